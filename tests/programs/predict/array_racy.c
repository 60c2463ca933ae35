// A long loop over an array is recorded as a whole; one of its elements is read without a lock.
#include "program.h"
enum { SIZE = 200 };
static int cells[SIZE];
static long sum;
static void *first(void *unused) {
  for (int i = 0; i < SIZE; i++)
    cells[i] = i; // RACE!
  return unused;
}
static void *second(void *unused) {
  late();
  sum = cells[SIZE / 2]; // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  printf("%ld\n", sum);
  return 0;
}
