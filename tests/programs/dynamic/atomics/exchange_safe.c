// An exchange releases and acquires.
#include "../program.h"
#include <stdatomic.h>
int data;
atomic_int flag;
void *sender(void *_) {
  data = 1; // NORACE
  atomic_exchange(&flag, 1);
  done();
  return 0;
}
void *receiver(void *_) {
  step(1);
  while (!atomic_exchange(&flag, 0))
    ;
  use(data); // NORACE
  return 0;
}
int main(void) { both(sender, receiver); }
