// memset overwrites what another thread reads.
#include "../program.h"
char buffer[100];
volatile size_t length = 100;
void *first(void *_) {
  memset(buffer, 1, length); // RACE!
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  use(buffer[99]); // RACE!
  return 0;
}
int main(void) { both(first, second); }
