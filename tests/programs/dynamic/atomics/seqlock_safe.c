// A sequence lock around relaxed atomics.
#include "../program.h"
#include <stdatomic.h>
atomic_uint sequence;
atomic_int data;
void *writer(void *_) {
  atomic_fetch_add_explicit(&sequence, 1, memory_order_acquire);
  atomic_store_explicit(&data, 1, memory_order_relaxed); // NORACE
  atomic_fetch_add_explicit(&sequence, 1, memory_order_release);
  return 0;
}
void *reader(void *_) {
  unsigned before, after;
  do {
    before = atomic_load_explicit(&sequence, memory_order_acquire);
    use(atomic_load_explicit(&data, memory_order_relaxed)); // NORACE
    atomic_thread_fence(memory_order_acquire);
    after = atomic_load_explicit(&sequence, memory_order_relaxed);
  } while (before != after || before % 2);
  return 0;
}
int main(void) { both(writer, reader); }
