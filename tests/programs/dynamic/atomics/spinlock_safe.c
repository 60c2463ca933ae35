// A spin lock from atomic_flag.
#include "../program.h"
#include <stdatomic.h>
int value;
atomic_flag busy = ATOMIC_FLAG_INIT;
void *work(void *_) {
  for (int i = 0; i < 50; i++) {
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
      sched_yield();
    value++; // NORACE
    atomic_flag_clear_explicit(&busy, memory_order_release);
  }
  return 0;
}
int main(void) { both(work, work); }
