// Neighbouring bytes of one word never race.
#include "../program.h"
char bytes[8];
void *even(void *_) {
  for (int i = 0; i < 8; i += 2)
    bytes[i]++; // NORACE
  return 0;
}
void *odd(void *_) {
  for (int i = 1; i < 8; i += 2)
    bytes[i]++; // NORACE
  return 0;
}
int main(void) { both(even, odd); }
