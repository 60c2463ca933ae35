// A progress counter done right: relaxed atomics.
#include "../program.h"
#include <stdatomic.h>
atomic_int progress;
void *worker(void *_) {
  for (int i = 0; i < 50; i++)
    atomic_store_explicit(&progress, i, memory_order_relaxed); // NORACE
  return 0;
}
void *display(void *_) {
  for (int i = 0; i < 50; i++)
    use(atomic_load_explicit(&progress, memory_order_relaxed)); // NORACE
  return 0;
}
int main(void) { both(worker, display); }
