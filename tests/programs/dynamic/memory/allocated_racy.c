// A block that nobody has written to yet is handed on without an order: that it is there may not be seen either.
#include "../program.h"
int *slot;
void *maker(void *_) {
  int *fresh = malloc(64); // RACE!
  __atomic_store_n(&slot, fresh, __ATOMIC_RELAXED);
  done();
  return 0;
}
void *user(void *_) {
  step(1);
  int *found = __atomic_load_n(&slot, __ATOMIC_RELAXED);
  found[3] = 1; // RACE!
  return 0;
}
int main(void) { both(maker, user); }
