// The ring's head is published with a relaxed store.
#include "../program.h"
#include <stdatomic.h>
int ring[8];
atomic_uint head;
void *producer(void *_) {
  ring[0] = 1; // RACE!
  atomic_store_explicit(&head, 1, memory_order_relaxed);
  done();
  return 0;
}
void *consumer(void *_) {
  step(1);
  if (atomic_load_explicit(&head, memory_order_acquire) == 1)
    use(ring[0]); // RACE!
  return 0;
}
int main(void) { both(producer, consumer); }
