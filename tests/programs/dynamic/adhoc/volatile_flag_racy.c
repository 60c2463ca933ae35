// A volatile flag is a race; volatile is not atomic.
#include "../program.h"
volatile int flag;
void *setter(void *_) {
  flag = 1; // RACE!
  done();
  return 0;
}
void *waiter(void *_) {
  step(1);
  while (!flag) // RACE!
    ;
  return 0;
}
int main(void) { both(setter, waiter); }
