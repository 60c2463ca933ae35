// Whoever wins the compare-exchange may write.
#include "program.h"
static _Atomic int owner;
static int data;
static void *first(void *unused) {
  int nobody = 0;
  if (atomic_compare_exchange_strong(&owner, &nobody, 1))
    data = 1; // NORACE
  return unused;
}
static void *second(void *unused) {
  late();
  int nobody = 0;
  if (atomic_compare_exchange_strong(&owner, &nobody, 2))
    data = 2; // NORACE
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
