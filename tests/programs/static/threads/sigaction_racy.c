// The handler is in a structure.
#include <signal.h>
int x;
void handler(int number) {
  x = number; // RACE!
}
int main(void) {
  struct sigaction action = {0};
  action.sa_handler = handler;
  sigaction(SIGUSR1, &action, 0);
  x = 1; // RACE!
  return 0;
}
