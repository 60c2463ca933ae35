// A floating guard is kept as it was, and the write is beside it.
#include "program.h"
static _Atomic int flag;
static double data;
static void *first(void *unused) {
  data = 1.5; // RACE!
  return unused;
}
static void *second(void *unused) {
  late();
  data = 2.5; // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
