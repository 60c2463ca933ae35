// One thread looks at the result of the first wait, the other at that of the second.
#include <pthread.h>
int total;
pthread_barrier_t barrier;
void *one(void *unused) {
  int result = pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  if (result == PTHREAD_BARRIER_SERIAL_THREAD) total++; // RACE!
  return 0;
}
void *two(void *unused) {
  pthread_barrier_wait(&barrier);
  if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) total++; // RACE!
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_barrier_init(&barrier, 0, 2);
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
