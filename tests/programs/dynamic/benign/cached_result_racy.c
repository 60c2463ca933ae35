// A cached result that every thread would compute alike.
#include "../program.h"
int cache;
int compute(void) {
  if (!cache)   // RACE!
    cache = 42; // RACE!
  return cache; // RACE!
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
