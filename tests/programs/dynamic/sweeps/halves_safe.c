// Two sweeps over one array meet inside an aligned word but share no byte.
// FLAGS: -O2
#include "../program.h"
enum { HALF = 501 };
int numbers[2 * HALF];
long sum;
void *low(void *_) {
  for (int i = 0; i < HALF; i++)
    numbers[i] = i; // NORACE
  return 0;
}
void *high(void *_) {
  for (int i = HALF; i < 2 * HALF; i++)
    numbers[i] = i; // NORACE
  return 0;
}
int main(void) {
  both(low, high);
  for (int i = 0; i < 2 * HALF; i++)
    sum += numbers[i]; // NORACE
  return sum == 0;
}
