// The chosen number opens for the last value alone.
#include "program.h"
static _Atomic int flag;
static int data;
static void *first(void *unused) {
  flag = 1;
  data = 1; // NORACE
  flag = 2;
  return unused;
}
static void *second(void *unused) {
  late();
  int seen = flag;
  if ((seen > 1 ? 5 : 0) == 5)
    data = 2; // NORACE
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
