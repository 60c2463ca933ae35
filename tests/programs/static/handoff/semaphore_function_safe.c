// The pointer leads to one function only.
#include <pthread.h>
#include <semaphore.h>
sem_t told;
int data;
static int (*const wait_for)(sem_t *) = sem_wait;
void *reader(void *unused) {
  wait_for(&told);
  return (void *)(long)data; // NORACE
}
int main(void) {
  pthread_t t;
  sem_init(&told, 0, 0);
  pthread_create(&t, 0, reader, 0);
  data = 4; // NORACE
  sem_post(&told);
  pthread_join(t, 0);
  return 0;
}
