// Each thread clears its half, at an odd border.
#include "../program.h"
char buffer[100];
volatile size_t border = 49;
void *first(void *_) {
  memset(buffer, 1, border); // NORACE
  return 0;
}
void *second(void *_) {
  memset(buffer + border, 2, 100 - border); // NORACE
  return 0;
}
int main(void) { both(first, second); }
