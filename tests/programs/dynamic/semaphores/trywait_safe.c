// sem_trywait, tried until it succeeds, and sem_timedwait.
#include "../program.h"
#include <semaphore.h>
#include <time.h>
int data;
sem_t ready, again;
void *producer(void *_) {
  data = 1; // NORACE
  sem_post(&ready);
  struct timespec far;
  clock_gettime(CLOCK_REALTIME, &far);
  far.tv_sec += 1000;
  if (sem_timedwait(&again, &far) == 0)
    data++; // NORACE
  return 0;
}
void *consumer(void *_) {
  while (sem_trywait(&ready) != 0)
    sched_yield();
  data++; // NORACE
  sem_post(&again);
  return 0;
}
int main(void) {
  sem_init(&ready, 0, 0);
  sem_init(&again, 0, 0);
  both(producer, consumer);
}
