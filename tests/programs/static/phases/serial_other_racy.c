// All but the serial thread work between the waits.
#include <pthread.h>
int total;
pthread_barrier_t barrier;
void *work(void *unused) {
  if (pthread_barrier_wait(&barrier) != PTHREAD_BARRIER_SERIAL_THREAD) total++; // RACE!
  pthread_barrier_wait(&barrier);
  return 0;
}
int main(void) {
  pthread_t a, b, c;
  pthread_barrier_init(&barrier, 0, 3);
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_create(&c, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  pthread_join(c, 0);
  return 0;
}
