// The side not taken needs a value that the flag never has.
#include "program.h"
static _Atomic int y;
static int x;
static void *first(void *unused) {
  y = 6;
  x = 1; // NORACE
  y = 5;
  return unused;
}
static void *second(void *unused) {
  late();
  if (y == 7)
    x = 2; // NORACE
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
