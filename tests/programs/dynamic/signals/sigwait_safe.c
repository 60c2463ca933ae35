// A thread that takes its signals by sigwait, told by a semaphore.
#include "../program.h"
#include <semaphore.h>
#include <signal.h>
int data;
sem_t handled;
void *waiter(void *_) {
  sigset_t set;
  int number;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigwait(&set, &number);
  data = number; // NORACE
  sem_post(&handled);
  return 0;
}
int main(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  sem_init(&handled, 0, 0);
  pthread_t t = start(waiter, NULL);
  pthread_kill(t, SIGUSR1);
  sem_wait(&handled);
  use(data); // NORACE
  join(t);
}
