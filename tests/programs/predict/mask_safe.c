// The tested bit is set in the last value alone.
#include "program.h"
static _Atomic int flag;
static int data;
static void *first(void *unused) {
  flag = 4;
  data = 1; // NORACE
  flag = 6;
  return unused;
}
static void *second(void *unused) {
  late();
  int seen = flag;
  if (seen & 2)
    data = 2; // NORACE
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
