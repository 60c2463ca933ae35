// One thread frees what another still reads.
#include "../program.h"
int *block;
void *reader(void *_) {
  use(*block); // RACE!
  done();
  return 0;
}
void *freer(void *_) {
  step(1);
  free(block); // RACE!
  return 0;
}
int main(void) {
  block = calloc(4, sizeof *block);
  both(reader, freer);
}
