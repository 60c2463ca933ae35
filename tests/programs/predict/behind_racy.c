// The side not taken holds while the write is still to come.
#include "program.h"
static _Atomic int y;
static int x;
static void *first(void *unused) {
  y = 1;
  x = 1; // RACE!
  y = 2;
  return unused;
}
static void *second(void *unused) {
  late();
  if (y != 2)
    x = 2; // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
