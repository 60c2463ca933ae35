// A barrier for two is used by different pairs in turn: the second pair is not ordered after the
// member of the first pair that has not come back.
#include "../program.h"
int value;
pthread_barrier_t barrier;
void *first(void *_) {
  pthread_barrier_wait(&barrier);
  value = 1; // RACE!
  done();
  return 0;
}
void *middle(void *_) {
  pthread_barrier_wait(&barrier);
  step(1);
  pthread_barrier_wait(&barrier);
  return 0;
}
void *last(void *_) {
  step(1);
  pthread_barrier_wait(&barrier);
  value = 2; // RACE!
  return 0;
}
int main(void) {
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_t extra = start(middle, NULL);
  both(first, last);
  join(extra);
}
