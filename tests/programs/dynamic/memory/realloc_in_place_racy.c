// A block is reallocated, perhaps where it is, and another thread goes on with the old pointer.
#include "../program.h"
char *block, *grown;
void *grower(void *_) {
  grown = realloc(block, 24); // RACE!
  done();
  return 0;
}
void *writer(void *_) {
  step(1);
  block[3] = 1; // RACE!
  return 0;
}
int main(void) {
  block = malloc(16);
  both(grower, writer);
  free(grown);
}
