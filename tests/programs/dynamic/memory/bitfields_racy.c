// Bit-fields that share a byte race.
#include "../program.h"
struct { unsigned a : 3, b : 5; } s;
void *first(void *_) {
  s.a = 1; // RACE!
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  s.b = 2; // RACE!
  return 0;
}
int main(void) { both(first, second); }
