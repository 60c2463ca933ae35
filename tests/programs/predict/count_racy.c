// A plain counter.
#include "program.h"
static int data;
static void *first(void *unused) {
  data++; // RACE!
  return unused;
}
static void *second(void *unused) {
  late();
  data++; // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
