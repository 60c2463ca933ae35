// One thread of each round works between two waits.
#include <pthread.h>
int total;
pthread_barrier_t barrier;
void *work(void *unused) {
  for (int i = 0; i < 5; i++) {
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) total++; // NORACE
    pthread_barrier_wait(&barrier);
  }
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_barrier_init(&barrier, 0, 2);
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return total; // NORACE
}
