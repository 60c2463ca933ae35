// A zero-width field separates the bytes.
#include "../program.h"
struct { unsigned char a : 3, : 0, b : 5; } s;
void *first(void *_) {
  s.a = 1; // NORACE
  return 0;
}
void *second(void *_) {
  s.b = 2; // NORACE
  return 0;
}
int main(void) { both(first, second); }
