#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
int data;
atomic_int ready;
void *producer(void *arg) {
  data = 42; // NORACE
  atomic_store_explicit(&ready, 1, memory_order_release); // NORACE
  return 0;
}
void *consumer(void *arg) {
  while (!atomic_load_explicit(&ready, memory_order_acquire)) ; // NORACE
  return (void *)(long)data; // NORACE
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, producer, 0);
  pthread_create(&b, 0, consumer, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
