// Reference counting with relaxed decrements: the last use is not ordered before the clearing.
#include "../program.h"
#include <stdatomic.h>
struct object { atomic_int count; int value; } object = {2, 1};
void *first(void *_) {
  use(object.value); // RACE!
  atomic_fetch_sub_explicit(&object.count, 1, memory_order_relaxed);
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  if (atomic_fetch_sub_explicit(&object.count, 1, memory_order_relaxed) == 1)
    object.value = 0; // RACE!
  return 0;
}
int main(void) { both(first, second); }
