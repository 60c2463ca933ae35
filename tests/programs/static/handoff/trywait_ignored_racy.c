// A try that is not looked at waits for nothing.
#include <pthread.h>
#include <semaphore.h>
int data;
sem_t ready;
void *sender(void *_) {
  data = 1; // RACE!
  sem_post(&ready);
  return 0;
}
void *receiver(void *_) {
  sem_trywait(&ready);
  data = 2; // RACE!
  return 0;
}
int main(void) {
  pthread_t t, u;
  sem_init(&ready, 0, 0);
  pthread_create(&t, 0, sender, 0);
  pthread_create(&u, 0, receiver, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
