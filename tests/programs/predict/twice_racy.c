// Both tests hold for both values.
#include "program.h"
static _Atomic int flag;
static int data;
static void *first(void *unused) {
  flag = 10;
  data = 1; // RACE!
  flag = 30;
  return unused;
}
static void *second(void *unused) {
  late();
  int seen = flag;
  if (seen > 5 && seen < 100)
    data = 2; // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
