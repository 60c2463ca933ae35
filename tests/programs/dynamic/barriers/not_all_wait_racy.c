// A third thread does not take part in the barrier.
#include "../program.h"
int value;
pthread_barrier_t barrier;
void *member(void *_) {
  pthread_barrier_wait(&barrier);
  return 0;
}
void *writer(void *_) {
  value = 1; // RACE!
  pthread_barrier_wait(&barrier);
  done();
  return 0;
}
int main(void) {
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_t a = start(member, NULL), b = start(writer, NULL);
  step(1);
  value = 2; // RACE!
  join(a);
  join(b);
}
