// Only atomic accesses, relaxed: no order, but no race either.
#include "../program.h"
#include <stdatomic.h>
atomic_long hits;
void *work(void *_) {
  for (int i = 0; i < 100; i++)
    atomic_fetch_add_explicit(&hits, 1, memory_order_relaxed); // NORACE
  return 0;
}
int main(void) {
  both(work, work);
  return hits != 200; // NORACE
}
