// The annotations name different objects, so they order nothing.
#include "../program.h"
#include <valgrind/helgrind.h>
int data, flag, other;
void *first(void *_) {
  data = 1; // RACE!
  ANNOTATE_HAPPENS_BEFORE(&flag);
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  ANNOTATE_HAPPENS_AFTER(&other);
  data++; // RACE!
  return 0;
}
int main(void) { both(first, second); }
