// Both threads write the same value.
#include "../program.h"
int initialised;
void *first(void *_) {
  initialised = 1; // RACE!
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  initialised = 1; // RACE!
  return 0;
}
int main(void) { both(first, second); }
