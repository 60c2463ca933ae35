// A tree of threads whose inner node does not wait for its right child.
#include "../program.h"
int leaves[2], sum;
void *leaf(void *index) {
  leaves[(long)index] = 1; // RACE!
  done();
  return 0;
}
int main(void) {
  pthread_t left = start(leaf, (void *)0), right = start(leaf, (void *)1);
  join(left);
  step(2);
  sum = leaves[0] + leaves[1]; // RACE!
  join(right);
}
