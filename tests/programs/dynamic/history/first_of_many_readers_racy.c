// Of thirty readers all but the first are ordered before the write.
#include "../program.h"
#include <semaphore.h>
int value;
sem_t finished;
void *careless(void *_) {
  use(value); // RACE!
  done();
  return 0;
}
void *reader(void *_) {
  step(1);
  use(value); // NORACE
  sem_post(&finished);
  return 0;
}
int main(void) {
  pthread_t threads[30];
  sem_init(&finished, 0, 0);
  for (int i = 0; i < 30; i++)
    threads[i] = start(i == 0 ? careless : reader, NULL);
  for (int i = 1; i < 30; i++)
    sem_wait(&finished);
  value = 1; // RACE!
  for (int i = 0; i < 30; i++)
    join(threads[i]);
}
