// memcpy reads what another thread writes.
#include "../program.h"
char source[64], target[64];
volatile size_t length = 64;
void *first(void *_) {
  source[40] = 1; // RACE!
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  memcpy(target, source, length); // RACE!
  return 0;
}
int main(void) { both(first, second); }
