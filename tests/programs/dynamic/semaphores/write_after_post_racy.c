// The producer writes once more after the post.
#include "../program.h"
#include <semaphore.h>
int data;
sem_t ready;
void *producer(void *_) {
  sem_post(&ready);
  data = 1; // RACE!
  done();
  return 0;
}
void *consumer(void *_) {
  sem_wait(&ready);
  step(1);
  data++; // RACE!
  return 0;
}
int main(void) {
  sem_init(&ready, 0, 0);
  both(producer, consumer);
}
