// The bytes of one word, each written or read at a place of its own, in two orders: one of them races,
// and it is that byte's place that is named.
#include "../program.h"
_Alignas(8) unsigned char word[8], other[8];
void *first(void *_) {
  word[1] = 1; // NORACE
  word[5] = 2; // RACE!
  word[0] = 3; // NORACE
  word[7] = 4; // NORACE
  use(word[3]); // NORACE
  use(word[2]); // NORACE
  other[7] = 4; // NORACE
  other[0] = 3; // NORACE
  use(other[2]); // RACE!
  use(other[3]); // NORACE
  other[5] = 2; // NORACE
  other[1] = 1; // NORACE
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  word[5] = 9;  // RACE!
  other[2] = 9; // RACE!
  word[4] = 9; // NORACE
  other[6] = 9; // NORACE
  return 0;
}
int main(void) { both(first, second); }
