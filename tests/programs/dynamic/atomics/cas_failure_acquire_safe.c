// A compare-exchange that fails with acquire order acquires.
#include "../program.h"
#include <stdatomic.h>
int data;
atomic_int flag;
void *sender(void *_) {
  data = 1; // NORACE
  atomic_store_explicit(&flag, 5, memory_order_release);
  done();
  return 0;
}
void *receiver(void *_) {
  step(1);
  int expected = 9;
  atomic_compare_exchange_strong_explicit(&flag, &expected, 1, memory_order_acq_rel,
                                          memory_order_acquire);
  use(data); // NORACE
  return 0;
}
int main(void) { both(sender, receiver); }
