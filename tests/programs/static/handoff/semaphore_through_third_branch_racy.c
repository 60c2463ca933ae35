#include <pthread.h>
#include <semaphore.h>
sem_t first, second;
int x;
void *one(void *arg) {
  x = 1; // RACE!
  sem_post(&first);
  return 0;
}
void *two(void *arg) {
  if (arg) sem_wait(&first);
  sem_post(&second);
  return 0;
}
int main(void) {
  pthread_t a, b;
  sem_init(&first, 0, 0);
  sem_init(&second, 0, 0);
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  sem_wait(&second);
  x = 3; // RACE!
  pthread_join(a, 0);
  pthread_join(b, 0);
  return x;
}
