// One thread counts atomically, the other does not.
#include "../program.h"
long hits;
void *atomic_side(void *_) {
  __atomic_fetch_add(&hits, 1, __ATOMIC_SEQ_CST); // RACE!
  done();
  return 0;
}
void *plain_side(void *_) {
  step(1);
  hits++; // RACE!
  return 0;
}
int main(void) { both(atomic_side, plain_side); }
