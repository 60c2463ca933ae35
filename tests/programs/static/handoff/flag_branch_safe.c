#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
int data;
atomic_int ready;
void *producer(void *arg) {
  data = 42; // NORACE
  ready = 1; // NORACE
  return 0;
}
void *consumer(void *arg) {
  if (ready) return (void *)(long)data; // NORACE
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, producer, 0);
  pthread_create(&b, 0, consumer, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
