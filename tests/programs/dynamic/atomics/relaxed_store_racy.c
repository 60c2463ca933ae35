// An acquire load of a relaxed store synchronises with nothing.
#include "../program.h"
#include <stdatomic.h>
int data;
atomic_int flag;
void *sender(void *_) {
  data = 1; // RACE!
  atomic_store_explicit(&flag, 1, memory_order_relaxed);
  done();
  return 0;
}
void *receiver(void *_) {
  step(1);
  while (!atomic_load_explicit(&flag, memory_order_acquire))
    ;
  use(data); // RACE!
  return 0;
}
int main(void) { both(sender, receiver); }
