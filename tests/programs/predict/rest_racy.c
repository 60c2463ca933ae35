// Both leave the same rest.
#include "program.h"
static _Atomic int flag;
static int data;
static void *first(void *unused) {
  flag = 7;
  data = 1; // RACE!
  flag = 8;
  return unused;
}
static void *second(void *unused) {
  late();
  int seen = flag;
  if (seen % 5 > 1)
    data = 2; // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
