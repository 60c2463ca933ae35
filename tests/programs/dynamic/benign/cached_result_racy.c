// A cached result that every thread would compute alike.
#include "../program.h"
int cache;
int compute(void) {
  int value = cache; // RACE!
  if (!value)
    cache = value = 42; // RACE!
  return value;
}
void *first(void *_) {
  compute();
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  compute();
  return 0;
}
int main(void) { both(first, second); }
