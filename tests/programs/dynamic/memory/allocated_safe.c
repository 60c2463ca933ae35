// A block that nobody has written to yet is handed on with an order, and comes back with another.
#include "../program.h"
int *slot, *back;
void *maker(void *_) {
  int *fresh = malloc(64); // NORACE
  __atomic_store_n(&slot, fresh, __ATOMIC_RELEASE);
  while (!__atomic_load_n(&back, __ATOMIC_ACQUIRE))
    done();
  free(back); // NORACE
  return 0;
}
void *user(void *_) {
  int *found;
  while (!(found = __atomic_load_n(&slot, __ATOMIC_ACQUIRE)))
    done();
  found[3] = 1; // NORACE
  __atomic_store_n(&back, found, __ATOMIC_RELEASE);
  return 0;
}
int main(void) { both(maker, user); }
