// Two threads write their own halves of each line of an array, all at once.
#include "../program.h"
int numbers[4096];
void *even(void *_) {
  for (int round = 0; round < 100; round++)
    for (int i = 0; i < 4096; i += 2) numbers[i] += round; // NORACE
  return 0;
}
void *odd(void *_) {
  for (int round = 0; round < 100; round++)
    for (int i = 1; i < 4096; i += 2) numbers[i] += round; // NORACE
  return 0;
}
int main(void) { both(even, odd); }
