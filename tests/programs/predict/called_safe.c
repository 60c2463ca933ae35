// The side not taken calls a function that writes something else.
#include "program.h"
static _Atomic int y;
static int x, other;
static void set(int value) { other = value; } // NORACE
static void *first(void *unused) {
  x = 1; // NORACE
  y = 5;
  return unused;
}
static void *second(void *unused) {
  late();
  if (y == 0)
    set(2);
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
