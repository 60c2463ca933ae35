// A store in assembly is a store.
#include "../program.h"
long value;
void *writer(void *_) {
  __asm__ volatile("movq $1, %0" : "=m"(value)); // RACE!
  done();
  return 0;
}
void *reader(void *_) {
  step(1);
  use(value); // RACE!
  return 0;
}
int main(void) { both(writer, reader); }
