// The thread that gave the block back has ended when another one still uses it.
#include "../program.h"
int *block;
void *owner(void *_) {
  free(block); // RACE!
  done();
  return 0;
}
void *user(void *_) {
  step(1);
  block[2] = 1; // RACE!
  return 0;
}
int main(void) {
  block = calloc(8, sizeof *block);
  both(owner, user);
}
