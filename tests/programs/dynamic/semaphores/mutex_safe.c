// A semaphore with one permit as a mutex.
#include "../program.h"
#include <semaphore.h>
int value;
sem_t permit;
void *work(void *_) {
  for (int i = 0; i < 20; i++) {
    sem_wait(&permit);
    value++; // NORACE
    sem_post(&permit);
  }
  return 0;
}
int main(void) {
  sem_init(&permit, 0, 1);
  both(work, work);
}
