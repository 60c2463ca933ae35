#include <signal.h>
int x;
void handler(int number) {
  x = number; // RACE!
}
int main(void) {
  signal(SIGUSR1, handler);
  x = 1; // RACE!
  return 0;
}
