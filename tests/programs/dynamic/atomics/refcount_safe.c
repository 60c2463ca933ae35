// Reference counting: the last one to let go frees.
#include "../program.h"
#include <stdatomic.h>
struct object { atomic_int count; int value; };
static void put(struct object *o) {
  if (atomic_fetch_sub_explicit(&o->count, 1, memory_order_acq_rel) == 1) {
    o->value = 0; // NORACE
    free(o);
  }
}
void *user(void *argument) {
  struct object *o = argument;
  use(o->value); // NORACE
  put(o);
  return 0;
}
int main(void) {
  struct object *o = malloc(sizeof *o);
  o->value = 1; // NORACE
  atomic_init(&o->count, 2);
  pthread_t a = start(user, o), b = start(user, o);
  join(a);
  join(b);
}
