// Two sweeps over one array share its middle element; optimised, so that each is one check.
// FLAGS: -O2
#include "../program.h"
enum { HALF = 500 };
double numbers[2 * HALF + 1];
void *low(void *_) {
  for (int i = 0; i <= HALF; i++)
    numbers[i] = 1; // RACE!
  done();
  return 0;
}
void *high(void *_) {
  step(1);
  for (int i = HALF; i <= 2 * HALF; i++)
    numbers[i] += 2; // RACE!
  return 0;
}
int main(void) { both(low, high); }
