// Whether the thread comes to the barrier depends on which function it was given.
#include <pthread.h>
pthread_barrier_t barrier;
int data;
static int go_on(pthread_barrier_t *unused) { return 0; }
int (*meet)(pthread_barrier_t *) = pthread_barrier_wait;
void *reader(void *unused) {
  meet(&barrier);
  return (void *)(long)data; // RACE!
}
int main(int argc, char **argv) {
  pthread_t t;
  if (argc > 1) meet = go_on;
  pthread_barrier_init(&barrier, 0, 2);
  pthread_create(&t, 0, reader, 0);
  data = 4; // RACE!
  pthread_barrier_wait(&barrier);
  pthread_join(t, 0);
  return 0;
}
