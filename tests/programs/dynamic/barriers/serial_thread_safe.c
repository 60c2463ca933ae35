// The serial thread alone works between two waits.
#include "../program.h"
int total;
pthread_barrier_t barrier;
void *work(void *_) {
  for (int i = 0; i < 5; i++) {
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
      total++; // NORACE
    pthread_barrier_wait(&barrier);
    use(total); // NORACE
    pthread_barrier_wait(&barrier);
  }
  return 0;
}
int main(void) {
  pthread_barrier_init(&barrier, NULL, 3);
  pthread_t extra = start(work, NULL);
  both(work, work);
  join(extra);
}
