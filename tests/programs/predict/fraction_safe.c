// A floating guard over the handed-over value.
#include "program.h"
static _Atomic int flag;
static double data;
static void *first(void *unused) {
  data = 1.5; // NORACE
  flag = 3;
  return unused;
}
static void *second(void *unused) {
  late();
  double seen = flag;
  if (seen > 2.5)
    data = 2.5; // NORACE
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
