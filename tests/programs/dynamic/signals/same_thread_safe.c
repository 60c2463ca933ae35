// A handler that runs in the thread it interrupts.
#include "../program.h"
#include <signal.h>
volatile sig_atomic_t seen;
void handler(int _) { seen = 1; } // NORACE
int main(void) {
  signal(SIGUSR1, handler);
  raise(SIGUSR1);
  while (!seen) // NORACE
    ;
}
