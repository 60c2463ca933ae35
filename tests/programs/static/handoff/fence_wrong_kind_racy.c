// An acquire fence releases nothing.
#include <pthread.h>
#include <stdatomic.h>
int data;
atomic_int flag;
void *sender(void *_) {
  data = 1; // RACE!
  atomic_thread_fence(memory_order_acquire);
  atomic_store_explicit(&flag, 1, memory_order_relaxed);
  return 0;
}
void *receiver(void *_) {
  while (!atomic_load_explicit(&flag, memory_order_relaxed)) ;
  atomic_thread_fence(memory_order_acquire);
  data = 2; // RACE!
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, sender, 0);
  pthread_create(&u, 0, receiver, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
