// Figure 3 with the write behind the swap: the base object is the same either way.
#include "program.h"
struct object { int value; };
static struct object one, two;
static struct object *_Atomic current = &one;
static void *first(void *unused) {
  current = &two;
  two.value = 5; // RACE!
  return unused;
}
static void *second(void *unused) {
  late();
  struct object *seen = current;
  printf("%d\n", seen->value); // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
