// Whoever gives up the last reference frees the block.
#include "program.h"
struct object { atomic_int references; int value; };
static struct object *shared;
static int sums[2];
static void give_up(struct object *object) {
  if (atomic_fetch_sub(&object->references, 1) == 1)
    free(object); // NORACE
}
static void *first(void *unused) {
  sums[0] = shared->value; // NORACE
  give_up(shared);
  return unused;
}
static void *second(void *unused) {
  late();
  sums[1] = shared->value; // NORACE
  give_up(shared);
  return unused;
}
int main(void) {
  shared = malloc(sizeof *shared);
  atomic_init(&shared->references, 2);
  shared->value = 3;
  both(first, second);
  printf("%d\n", sums[0] + sums[1]);
  return 0;
}
