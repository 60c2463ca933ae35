// C11: a later store by the same thread continues its release sequence.
#include "../program.h"
#include <stdatomic.h>
int data;
atomic_int flag;
void *sender(void *_) {
  data = 1; // NORACE
  atomic_store_explicit(&flag, 1, memory_order_release);
  atomic_store_explicit(&flag, 2, memory_order_relaxed);
  done();
  return 0;
}
void *receiver(void *_) {
  step(1);
  while (atomic_load_explicit(&flag, memory_order_acquire) != 2)
    ;
  use(data); // NORACE
  return 0;
}
int main(void) { both(sender, receiver); }
