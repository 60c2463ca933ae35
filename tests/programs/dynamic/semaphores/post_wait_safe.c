// A semaphore hands over data.
#include "../program.h"
#include <semaphore.h>
int data;
sem_t ready;
void *producer(void *_) {
  data = 1; // NORACE
  sem_post(&ready);
  return 0;
}
void *consumer(void *_) {
  sem_wait(&ready);
  data++; // NORACE
  return 0;
}
int main(void) {
  sem_init(&ready, 0, 0);
  both(producer, consumer);
}
