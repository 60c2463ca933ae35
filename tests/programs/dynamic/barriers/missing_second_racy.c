// Without the second barrier the next round's write meets this round's read.
#include "../program.h"
int cells[2];
pthread_barrier_t barrier;
void *slow(void *_) {
  pthread_barrier_wait(&barrier);
  step(1);
  use(cells[1]); // RACE!
  return 0;
}
void *fast(void *_) {
  cells[1] = 1; // NORACE
  pthread_barrier_wait(&barrier);
  cells[1] = 2; // RACE!
  done();
  return 0;
}
int main(void) {
  pthread_barrier_init(&barrier, NULL, 2);
  both(slow, fast);
}
