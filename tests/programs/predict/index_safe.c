// The index depends on the value: until the last one it is another element.
#include "program.h"
static _Atomic int at;
static int table[4];
static void *first(void *unused) {
  table[1] = 7; // NORACE
  at = 1;
  return unused;
}
static void *second(void *unused) {
  late();
  table[at] = 8; // NORACE
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
