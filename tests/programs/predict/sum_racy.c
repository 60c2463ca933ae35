// The sum passes the bound for both values.
#include "program.h"
static _Atomic int flag;
static int data;
static void *first(void *unused) {
  flag = 3;
  data = 1; // RACE!
  flag = 20;
  return unused;
}
static void *second(void *unused) {
  late();
  int seen = flag;
  if (seen + 10 > 11)
    data = 2; // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
