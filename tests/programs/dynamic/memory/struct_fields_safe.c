// Different fields of one struct never race.
#include "../program.h"
struct { char a; short b; int c; long d; } s;
void *first(void *_) {
  s.a = 1; // NORACE
  s.c = 2; // NORACE
  return 0;
}
void *second(void *_) {
  s.b = 3; // NORACE
  s.d = 4; // NORACE
  return 0;
}
int main(void) { both(first, second); }
