// A later store by the same thread continues its release sequence (C11).
#include <pthread.h>
#include <stdatomic.h>
int data;
atomic_int flag;
void *one(void *unused) {
  data = 1; // NORACE
  atomic_store_explicit(&flag, 1, memory_order_release);
  atomic_store_explicit(&flag, 2, memory_order_relaxed);
  return 0;
}
void *two(void *unused) {
  while (atomic_load_explicit(&flag, memory_order_acquire) != 2) ;
  return (void *)(long)data; // NORACE
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
