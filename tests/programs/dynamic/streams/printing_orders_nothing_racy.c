// Printing to the same stream is no order to rely on.
#include "../program.h"
int data;
void *first(void *_) {
  data = 1; // RACE!
  fprintf(stderr, "first\n");
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  fprintf(stderr, "second\n");
  use(data); // RACE!
  return 0;
}
int main(void) { both(first, second); }
