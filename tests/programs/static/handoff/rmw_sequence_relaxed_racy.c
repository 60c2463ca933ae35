// Nothing was released.
#include <pthread.h>
#include <stdatomic.h>
int data;
atomic_int flag;
void *one(void *unused) {
  data = 1; // RACE!
  atomic_store_explicit(&flag, 1, memory_order_relaxed);
  return 0;
}
void *middle(void *unused) {
  atomic_fetch_add_explicit(&flag, 1, memory_order_relaxed);
  return 0;
}
void *two(void *unused) {
  if (atomic_load_explicit(&flag, memory_order_acquire) == 2)
    data = 2; // RACE!
  return 0;
}
int main(void) {
  pthread_t a, b, c;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_create(&c, 0, middle, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  pthread_join(c, 0);
  return 0;
}
