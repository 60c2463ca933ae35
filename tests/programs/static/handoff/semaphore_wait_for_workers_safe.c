#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
int data;
sem_t done;
void *worker(void *arg) {
  data = 1; // NORACE
  sem_post(&done);
  return 0;
}
int main(void) {
  pthread_t a;
  sem_init(&done, 0, 0);
  pthread_create(&a, 0, worker, 0);
  sem_wait(&done);
  return data; // NORACE
}
