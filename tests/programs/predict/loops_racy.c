// What loops of all lengths compute is added without a lock.
#include "program.h"
static double halves[128];
static int steps[200];
static long total, limit = 128;
static double sum(long count) {
  double all = 0;
  for (long i = 0; i < count; i++)
    all += halves[i];
  return all * 2;
}
static long down(long from, long *visits) {
  long i;
  for (i = from; i > 3; i -= 3)
    visits[i % 8] += steps[i];
  return i;
}
static long all_loops(void) {
  long found = 0, visits[8] = {0};
  for (long count = 1; count <= limit; count *= 2)
    found += (long)sum(count) + down(count + 9, visits) + visits[5];
  return found;
}
static void *add(void *unused) {
  long found = all_loops();
  total += found; // RACE!
  return unused;
}
static void *add_late(void *unused) {
  late();
  return add(unused);
}
int main(void) {
  for (int i = 0; i < 200; i++) {
    halves[i % 128] = i % 128 / 2.0;
    steps[i] = i * 7 % 13;
  }
  both(add, add_late);
  printf("total %ld\n", total);
  return 0;
}
