// What sscanf could not match it does not write.
#include "../program.h"
int first, second;
void *scanner(void *_) {
  if (sscanf("42 words", "%d %d", &first, &second) != 1) // NORACE
    abort();
  done();
  return 0;
}
void *writer(void *_) {
  step(1);
  second = 1; // NORACE
  return 0;
}
int main(void) { both(scanner, writer); }
