// The side not taken needs a value that the flag has for a while.
#include "program.h"
static _Atomic int y;
static int x;
static void *first(void *unused) {
  y = 7;
  x = 1; // RACE!
  y = 5;
  return unused;
}
static void *second(void *unused) {
  late();
  if (y == 7)
    x = 2; // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
