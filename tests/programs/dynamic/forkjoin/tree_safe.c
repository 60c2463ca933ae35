// A tree of threads: each node sums what its children left.
#include "../program.h"
enum { DEPTH = 4 };
int sums[1 << (DEPTH + 1)];
void *node(void *argument) {
  long index = (long)argument;
  if (index >= 1 << DEPTH) {
    sums[index] = 1; // NORACE
    return 0;
  }
  pthread_t left = start(node, (void *)(2 * index)), right = start(node, (void *)(2 * index + 1));
  join(left);
  join(right);
  sums[index] = sums[2 * index] + sums[2 * index + 1]; // NORACE
  return 0;
}
int main(void) {
  node((void *)1);
  return sums[1] != 1 << DEPTH;
}
