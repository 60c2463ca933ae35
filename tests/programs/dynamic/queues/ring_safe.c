// A ring for one producer and one consumer, by release and acquire.
#include "../program.h"
#include <stdatomic.h>
enum { N = 8, ITEMS = 100 };
int ring[N];
atomic_uint head, tail;
void *producer(void *_) {
  for (unsigned i = 0; i < ITEMS; i++) {
    while (i - atomic_load_explicit(&tail, memory_order_acquire) == N)
      sched_yield();
    ring[i % N] = (int)i; // NORACE
    atomic_store_explicit(&head, i + 1, memory_order_release);
  }
  return 0;
}
void *consumer(void *_) {
  for (unsigned i = 0; i < ITEMS; i++) {
    while (atomic_load_explicit(&head, memory_order_acquire) == i)
      sched_yield();
    use(ring[i % N]); // NORACE
    atomic_store_explicit(&tail, i + 1, memory_order_release);
  }
  return 0;
}
int main(void) { both(producer, consumer); }
