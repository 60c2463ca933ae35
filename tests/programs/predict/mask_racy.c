// The tested bit is set in both values.
#include "program.h"
static _Atomic int flag;
static int data;
static void *first(void *unused) {
  flag = 4;
  data = 1; // RACE!
  flag = 6;
  return unused;
}
static void *second(void *unused) {
  late();
  int seen = flag;
  if (seen & 4)
    data = 2; // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
