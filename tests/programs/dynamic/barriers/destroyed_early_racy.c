// One thread destroys the barrier while the other may still be on its way out.
#include "../program.h"
pthread_barrier_t barrier;
void *leaver(void *_) {
  pthread_barrier_wait(&barrier); // RACE!
  done();
  return 0;
}
void *destroyer(void *_) {
  pthread_barrier_wait(&barrier);
  step(1);
  pthread_barrier_destroy(&barrier); // RACE!
  return 0;
}
int main(void) {
  pthread_barrier_init(&barrier, NULL, 2);
  both(leaver, destroyer);
}
