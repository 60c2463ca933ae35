// The handler runs in one thread, another touches the same variable.
#include "../program.h"
#include <signal.h>
int value;
void handler(int _) { value = 1; } // RACE!
void *receiver(void *_) {
  raise(SIGUSR1);
  done();
  return 0;
}
void *other(void *_) {
  step(1);
  value = 2; // RACE!
  return 0;
}
int main(void) {
  signal(SIGUSR1, handler);
  both(receiver, other);
}
