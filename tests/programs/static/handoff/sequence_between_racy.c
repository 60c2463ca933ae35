// Written after the release, and told by a store that releases nothing.
#include <pthread.h>
#include <stdatomic.h>
int data;
atomic_int flag;
void *one(void *unused) {
  atomic_store_explicit(&flag, 1, memory_order_release);
  data = 1; // RACE!
  atomic_store_explicit(&flag, 2, memory_order_relaxed);
  return 0;
}
void *two(void *unused) {
  while (atomic_load_explicit(&flag, memory_order_acquire) != 2) ;
  return (void *)(long)data; // RACE!
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
