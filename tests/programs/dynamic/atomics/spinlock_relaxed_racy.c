// The spin lock is released with a relaxed store.
#include "../program.h"
#include <stdatomic.h>
int value;
atomic_int busy;
void enter(void) {
  while (atomic_exchange_explicit(&busy, 1, memory_order_acquire))
    sched_yield();
}
void leave(void) { atomic_store_explicit(&busy, 0, memory_order_relaxed); }
void *first(void *_) {
  enter();
  value++; // RACE!
  leave();
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  enter();
  value++; // RACE!
  leave();
  return 0;
}
int main(void) { both(first, second); }
