// sem_trywait fails, and the thread goes on.
#include "../program.h"
#include <semaphore.h>
int data;
sem_t ready;
void *producer(void *_) {
  step(1);
  data = 1; // RACE!
  sem_post(&ready);
  done();
  return 0;
}
void *consumer(void *_) {
  sem_trywait(&ready);
  done();
  step(2);
  data++; // RACE!
  return 0;
}
int main(void) {
  sem_init(&ready, 0, 0);
  both(producer, consumer);
}
