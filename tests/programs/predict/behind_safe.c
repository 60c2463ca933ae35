// The side not taken is open only before the fork-time value changes, and then joins in.
#include "program.h"
static _Atomic int y = 2;
static int x;
static void *first(void *unused) {
  y = 3;
  puts("first");
  return unused;
}
static void *second(void *unused) {
  late();
  if (y == 4)
    x = 2; // NORACE
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
