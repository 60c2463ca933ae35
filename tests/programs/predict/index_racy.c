// The index is the same for both values.
#include "program.h"
static _Atomic int at;
static int table[4];
static void *first(void *unused) {
  at = 2;
  table[1] = 7; // RACE!
  at = 3;
  return unused;
}
static void *second(void *unused) {
  late();
  table[at / 2] = 8; // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
