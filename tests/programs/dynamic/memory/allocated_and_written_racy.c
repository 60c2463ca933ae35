// The maker writes one part of its new block; both that and the other part are news to whoever finds it.
#include "../program.h"
struct pair {
  int key, value;
};
struct pair *slot;
void *maker(void *_) {
  struct pair *fresh = malloc(sizeof *fresh); // RACE!
  fresh->key = 7;                             // RACE!
  __atomic_store_n(&slot, fresh, __ATOMIC_RELAXED);
  done();
  return 0;
}
void *user(void *_) {
  step(1);
  struct pair *found = __atomic_load_n(&slot, __ATOMIC_RELAXED);
  found->value = 1; // RACE!
  use(found->key);  // RACE!
  return 0;
}
int main(void) { both(maker, user); }
