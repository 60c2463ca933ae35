#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
int data;
sem_t ready;
void *producer(void *arg) {
  data = 42; // NORACE
  sem_post(&ready);
  return 0;
}
void *consumer(void *arg) {
  sem_wait(&ready);
  return (void *)(long)data; // NORACE
}
int main(void) {
  pthread_t a, b;
  sem_init(&ready, 0, 0);
  pthread_create(&a, 0, producer, 0);
  pthread_create(&b, 0, consumer, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
