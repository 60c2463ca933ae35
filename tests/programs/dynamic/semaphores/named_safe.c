// A named semaphore.
#include "../program.h"
#include <fcntl.h>
#include <semaphore.h>
int data;
sem_t *ready;
void *producer(void *_) {
  data = 1; // NORACE
  sem_post(ready);
  return 0;
}
void *consumer(void *_) {
  sem_wait(ready);
  use(data); // NORACE
  return 0;
}
int main(void) {
  char name[64];
  snprintf(name, sizeof name, "/racewarden-%d", (int)getpid());
  ready = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
  sem_unlink(name);
  both(producer, consumer);
  sem_close(ready);
}
