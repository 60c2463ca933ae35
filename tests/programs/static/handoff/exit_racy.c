#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
int data;
sem_t ready;
void *worker(void *arg) {
  data = 1; // RACE!
  sem_post(&ready);
  return 0;
}
__attribute__((destructor)) static void report(void) {
  data++; // RACE!
}
int main(int argc, char **argv) {
  pthread_t t;
  sem_init(&ready, 0, 0);
  pthread_create(&t, 0, worker, 0);
  if (argc > 1) exit(1);
  sem_wait(&ready);
  return 0;
}
