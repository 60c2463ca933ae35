// There are more users than references.
#include <pthread.h>
#include <stdatomic.h>
struct object { atomic_int count; int value; } object = {2, 1};
void *user(void *unused) {
  int seen = object.value; // RACE!
  if (atomic_fetch_sub_explicit(&object.count, 1, memory_order_acq_rel) == 1) {
    object.value = seen - 1; // RACE!
  }
  return 0;
}
int main(void) {
  pthread_t t[3];
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, user, 0);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  return 0;
}
