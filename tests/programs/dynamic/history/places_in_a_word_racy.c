// Three, four and six places touch bytes of one word each; only the byte that both threads touch
// races, with the very place that touched it.
#include "../program.h"
_Alignas(8) char three[8], four[8], six[8];
void *first(void *_) {
  three[0] = 1; // NORACE
  three[1] = 1; // RACE!
  three[2] = 1; // NORACE
  use(four[0]); // RACE!
  four[2] = 1;  // NORACE
  use(four[4]); // NORACE
  four[6] = 1;  // NORACE
  six[0] = 1;   // NORACE
  six[1] = 1;   // NORACE
  use(six[2]);  // RACE!
  six[3] = 1;   // NORACE
  use(six[4]);  // NORACE
  six[5] = 1;   // NORACE
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  three[1]++;  // RACE!
  three[3]++;  // NORACE
  four[0] = 2; // RACE!
  use(four[4]); // NORACE
  six[2] = 2;  // RACE!
  use(six[4]); // NORACE
  return 0;
}
int main(void) { both(first, second); }
