// Whether the thread waits for the semaphore depends on which function it was given.
#include <pthread.h>
#include <semaphore.h>
sem_t told;
int data;
static int go_on(sem_t *unused) { return 0; }
int (*wait_for)(sem_t *) = sem_wait;
void *reader(void *unused) {
  wait_for(&told);
  return (void *)(long)data; // RACE!
}
int main(int argc, char **argv) {
  pthread_t t;
  if (argc > 1) wait_for = go_on;
  sem_init(&told, 0, 0);
  pthread_create(&t, 0, reader, 0);
  data = 4; // RACE!
  sem_post(&told);
  pthread_join(t, 0);
  return 0;
}
