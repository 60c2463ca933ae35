// Brothers are not ordered by their common parent.
#include "../program.h"
int value;
void *first(void *_) {
  value = 1; // RACE!
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  value = 2; // RACE!
  return 0;
}
int main(void) { both(first, second); }
