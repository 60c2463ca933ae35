// The object is filled before it is published.
#include "program.h"
struct object { int value; };
static struct object object;
static struct object *_Atomic published;
static void *first(void *unused) {
  object.value = 5; // NORACE
  published = &object;
  return unused;
}
static void *second(void *unused) {
  late();
  struct object *seen = published;
  if (seen)
    printf("%d\n", seen->value); // NORACE
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
