// An unaligned access across two words.
#include "../program.h"
char buffer[16];
struct __attribute__((packed)) unaligned { int value; };
void *first(void *_) {
  ((struct unaligned *)(buffer + 6))->value = 1; // RACE!
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  buffer[9] = 2; // RACE!
  return 0;
}
int main(void) { both(first, second); }
