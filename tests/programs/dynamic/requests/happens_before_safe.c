// An order told by the annotations of Valgrind's headers.
#include "../program.h"
#include <valgrind/helgrind.h>
int data, flag;
void *first(void *_) {
  data = 1; // NORACE
  ANNOTATE_HAPPENS_BEFORE(&flag);
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  ANNOTATE_HAPPENS_AFTER(&flag);
  data++; // NORACE
  return 0;
}
int main(void) { both(first, second); }
