// Two permits let two threads in at once.
#include "../program.h"
#include <semaphore.h>
int value;
sem_t permits;
void *first(void *_) {
  sem_wait(&permits);
  value++; // RACE!
  done();
  step(2);
  sem_post(&permits);
  return 0;
}
void *second(void *_) {
  step(1);
  sem_wait(&permits);
  value++; // RACE!
  sem_post(&permits);
  done();
  return 0;
}
int main(void) {
  sem_init(&permits, 0, 2);
  both(first, second);
}
