// One thread reallocates a block that another writes.
#include "../program.h"
char *block;
void *writer(void *_) {
  block[3] = 1; // RACE!
  done();
  return 0;
}
void *grower(void *_) {
  step(1);
  block = realloc(block, 100000); // RACE!
  return 0;
}
int main(void) {
  block = malloc(16);
  both(writer, grower);
}
