// Both threads use one block.
#include "program.h"
static int *block;
static void *first(void *unused) {
  block[1] = 1; // RACE!
  return unused;
}
static void *second(void *unused) {
  late();
  block[1] = 2; // RACE!
  return unused;
}
int main(void) {
  block = calloc(2, sizeof *block);
  both(first, second);
  return 0;
}
