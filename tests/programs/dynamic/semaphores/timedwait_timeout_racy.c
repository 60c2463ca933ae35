// sem_timedwait times out: nothing is ordered.
#include "../program.h"
#include <semaphore.h>
int data;
sem_t ready;
void *producer(void *_) {
  step(1);
  data = 1; // RACE!
  done();
  return 0;
}
void *consumer(void *_) {
  struct timespec past = {0, 0};
  sem_timedwait(&ready, &past);
  done();
  step(2);
  data++; // RACE!
  return 0;
}
int main(void) {
  sem_init(&ready, 0, 0);
  both(producer, consumer);
}
