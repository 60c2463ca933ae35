// A plain read of what another thread writes atomically.
#include "../program.h"
int value;
void *plain_side(void *_) {
  use(value); // RACE!
  done();
  return 0;
}
void *atomic_side(void *_) {
  step(1);
  __atomic_store_n(&value, 1, __ATOMIC_RELEASE); // RACE!
  return 0;
}
int main(void) { both(plain_side, atomic_side); }
