#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
int data;
atomic_int ready;
void *producer(void *arg) {
  for (int i = 0; i < 3; i++) {
    data = i;  // RACE!
    ready = 1; // NORACE
  }
  return 0;
}
void *consumer(void *arg) {
  while (!ready) ; // NORACE
  return (void *)(long)data; // RACE!
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, producer, 0);
  pthread_create(&b, 0, consumer, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
