// A number of ten bytes, for which there is no instruction that moves it whole.
// FLAGS: -O1
#include "../program.h"
long double total;
void *adder(void *_) {
  total += 1.5L; // RACE!
  done();
  return 0;
}
void *looker(void *_) {
  step(1);
  use((long)total); // RACE!
  return 0;
}
int main(void) { both(adder, looker); }
