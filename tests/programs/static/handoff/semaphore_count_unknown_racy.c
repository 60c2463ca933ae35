#include <pthread.h>
#include <semaphore.h>
sem_t s;
int x;
void *worker(void *arg) {
  sem_wait(&s);
  x++; // RACE!
  sem_post(&s);
  return 0;
}
int main(int argc, char **argv) {
  sem_init(&s, 0, argc);
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return x;
}
