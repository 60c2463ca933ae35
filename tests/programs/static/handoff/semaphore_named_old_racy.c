// It may have been there before, and been posted.
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
int data;
sem_t *ready;
void *one(void *unused) {
  data = 1; // RACE!
  sem_post(ready);
  return 0;
}
void *two(void *unused) {
  sem_wait(ready);
  data = 2; // RACE!
  return 0;
}
int main(void) {
  pthread_t a, b;
  ready = sem_open("/racewarden-semaphore_named_old_racy", O_CREAT | 0, 0600, 0);
  sem_unlink("/racewarden-semaphore_named_old_racy");
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
