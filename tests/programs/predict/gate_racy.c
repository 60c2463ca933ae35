// A compare-exchange that is not asked about.
#include "program.h"
static _Atomic int owner;
static int data;
static void *first(void *unused) {
  int nobody = 0;
  atomic_compare_exchange_strong(&owner, &nobody, 1);
  data = 1; // RACE!
  return unused;
}
static void *second(void *unused) {
  late();
  data = 2; // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
