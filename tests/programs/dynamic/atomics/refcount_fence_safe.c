// Reference counting with release decrements and an acquire fence before the clearing.
#include "../program.h"
#include <stdatomic.h>
struct object { atomic_int count; int value; } object = {2, 1};
static void put(void) {
  if (atomic_fetch_sub_explicit(&object.count, 1, memory_order_release) == 1) {
    atomic_thread_fence(memory_order_acquire);
    object.value = 0; // NORACE
  }
}
void *user(void *_) {
  use(object.value); // NORACE
  put();
  return 0;
}
int main(void) { both(user, user); }
