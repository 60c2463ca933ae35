// A sequence lock around plain data: readers may overlap the writer and retry, a race all the same.
#include "../program.h"
#include <stdatomic.h>
atomic_uint sequence;
int data;
void *writer(void *_) {
  atomic_fetch_add_explicit(&sequence, 1, memory_order_acquire);
  data = 1; // RACE!
  done();
  step(2);
  atomic_fetch_add_explicit(&sequence, 1, memory_order_release);
  return 0;
}
void *reader(void *_) {
  step(1);
  atomic_load_explicit(&sequence, memory_order_acquire);
  use(data); // RACE!
  done();
  return 0;
}
int main(void) { both(writer, reader); }
