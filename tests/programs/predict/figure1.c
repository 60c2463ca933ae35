// Figure 1: the first write of y keeps the branch, and the initial value takes the other side.
#include "program.h"
static int x, y;
static void *first(void *unused) {
  y = 3; // RACE!
  x = 1; // RACE!
  y = 5; // RACE!
  return unused;
}
static void *second(void *unused) {
  late();
  if (y > 2)                       // RACE!
    printf("%d\n", 1 / (x + 1)); // RACE!
  else
    printf("%d\n", 2 / (x + 2)); // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
