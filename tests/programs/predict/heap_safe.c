// Each thread has a block of its own, at the same address after the first was freed.
#include "program.h"
static int made;
static void *first(void *unused) {
  int *own = malloc(sizeof *own);
  *own = 1; // NORACE
  free(own);
  return unused;
}
static void *second(void *unused) {
  late();
  int *own = malloc(sizeof *own);
  *own = 2; // NORACE
  free(own);
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
