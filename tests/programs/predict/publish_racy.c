// The object is filled after it was published.
#include "program.h"
struct object { int value; };
static struct object object;
static struct object *_Atomic published;
static void *first(void *unused) {
  published = &object;
  object.value = 5; // RACE!
  return unused;
}
static void *second(void *unused) {
  late();
  struct object *seen = published;
  if (seen)
    printf("%d\n", seen->value); // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
