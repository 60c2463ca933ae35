// Only the last value leads to the access.
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
  switch (flag) {
  case 2:
    data = 2; // NORACE
    break;
  default:
    break;
  }
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
