// A hand-made flag without atomics.
#include "../program.h"
int flag;
void *setter(void *_) {
  flag = 1; // RACE!
  done();
  return 0;
}
void *waiter(void *_) {
  step(1);
  use(flag); // RACE!
  return 0;
}
int main(void) { both(setter, waiter); }
