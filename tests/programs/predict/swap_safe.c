// Figure 3: the read of the other object needs the swap.
#include "program.h"
struct object { int value; };
static struct object one, two;
static struct object *_Atomic current = &one;
static void *first(void *unused) {
  two.value = 5; // NORACE
  current = &two;
  return unused;
}
static void *second(void *unused) {
  late();
  struct object *seen = current;
  printf("%d\n", seen->value); // NORACE
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
