// A block grows, and the new part of it is handed on without an order.
#include "../program.h"
char *slot;
void *maker(void *_) {
  char *block = malloc(16);
  block = realloc(block, 2048); // RACE!
  __atomic_store_n(&slot, block, __ATOMIC_RELAXED);
  done();
  return 0;
}
void *user(void *_) {
  step(1);
  char *found = __atomic_load_n(&slot, __ATOMIC_RELAXED);
  found[1500] = 1; // RACE!
  return 0;
}
int main(void) { both(maker, user); }
