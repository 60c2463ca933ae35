// One byte of an eight-byte value.
#include "../program.h"
union { long whole; char bytes[8]; } u;
void *first(void *_) {
  u.whole = -1; // RACE!
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  u.bytes[5] = 1; // RACE!
  return 0;
}
int main(void) { both(first, second); }
