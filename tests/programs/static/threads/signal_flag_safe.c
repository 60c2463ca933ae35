// The flag is what C lets a handler and its thread share.
#include <signal.h>
volatile sig_atomic_t seen;
void handler(int number) {
  seen = 1; // NORACE
}
int main(void) {
  signal(SIGUSR1, handler);
  raise(SIGUSR1);
  return seen != 1; // NORACE
}
