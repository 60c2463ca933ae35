// An unaligned access next to another thread's byte.
#include "../program.h"
char buffer[16];
struct __attribute__((packed)) unaligned { int value; };
void *first(void *_) {
  ((struct unaligned *)(buffer + 6))->value = 1; // NORACE
  return 0;
}
void *second(void *_) {
  buffer[5] = 2;  // NORACE
  buffer[10] = 2; // NORACE
  return 0;
}
int main(void) { both(first, second); }
