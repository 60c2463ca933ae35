// The thread that takes a signal by waiting comes after its sender.
#include "../program.h"
#include <signal.h>
int data;
pthread_t taker;
void *sender(void *_) {
  data = 1; // NORACE
  pthread_kill(taker, SIGUSR1);
  return 0;
}
int main(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  taker = pthread_self();
  pthread_t thread = start(sender, NULL);
  struct timespec limit = {.tv_sec = 60};
  if (sigtimedwait(&set, NULL, &limit) != SIGUSR1)
    return 1;
  data++; // NORACE
  pthread_join(thread, NULL);
}
