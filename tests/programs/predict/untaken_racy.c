// Figure 1: the other side of the branch reads what the first thread writes.
#include "program.h"
static _Atomic int y;
static int x;
static void *first(void *unused) {
  y = 3;
  x = 1; // RACE!
  y = 5;
  return unused;
}
static void *second(void *unused) {
  late();
  if (y > 4)
    puts("late");
  else
    printf("%d\n", x); // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
