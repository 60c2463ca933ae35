// Only the last product passes.
#include "program.h"
static _Atomic int flag;
static int data;
static void *first(void *unused) {
  flag = 2;
  data = 1; // NORACE
  flag = 5;
  return unused;
}
static void *second(void *unused) {
  late();
  int seen = flag;
  if (seen * 3 == 15)
    data = 2; // NORACE
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
