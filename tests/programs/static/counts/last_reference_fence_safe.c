// The last one to let go acquires by a fence.
#include <pthread.h>
#include <stdatomic.h>
struct object { atomic_int count; int value; } object = {3, 1};
void *user(void *unused) {
  int seen = object.value; // NORACE
  if (atomic_fetch_sub_explicit(&object.count, 1, memory_order_release) == 1) {
    atomic_thread_fence(memory_order_acquire);
    object.value = seen - 1; // NORACE
  }
  return 0;
}
int main(void) {
  pthread_t t[3];
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, user, 0);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  return 0;
}
