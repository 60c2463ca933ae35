// The zeros of a new block are read without an order.
#include "../program.h"
int *slot;
void *maker(void *_) {
  int *fresh = calloc(4, sizeof *fresh); // RACE!
  __atomic_store_n(&slot, fresh, __ATOMIC_RELAXED);
  done();
  return 0;
}
void *user(void *_) {
  step(1);
  int *found = __atomic_load_n(&slot, __ATOMIC_RELAXED);
  use(found[1]); // RACE!
  return 0;
}
int main(void) { both(maker, user); }
