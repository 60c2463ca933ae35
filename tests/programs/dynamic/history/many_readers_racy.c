// Twenty ordered readers come between the write and the read that races with it.
#include "../program.h"
#include <semaphore.h>
int value;
sem_t ready;
void *writer(void *_) {
  value = 1; // RACE!
  for (int i = 0; i < 20; i++)
    sem_post(&ready);
  return 0;
}
void *reader(void *_) {
  sem_wait(&ready);
  use(value); // NORACE
  done();
  return 0;
}
void *careless(void *_) {
  step(20);
  use(value); // RACE!
  return 0;
}
int main(void) {
  pthread_t readers[20];
  sem_init(&ready, 0, 0);
  for (int i = 0; i < 20; i++)
    readers[i] = start(reader, NULL);
  both(writer, careless);
  for (int i = 0; i < 20; i++)
    join(readers[i]);
}
