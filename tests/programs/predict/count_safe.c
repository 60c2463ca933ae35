// An atomic counter.
#include "program.h"
static _Atomic int data;
static void *first(void *unused) {
  data++; // NORACE
  return unused;
}
static void *second(void *unused) {
  late();
  data++; // NORACE
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
