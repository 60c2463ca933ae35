// What the sender did before pthread_kill is seen by the handler.
#include "../program.h"
#include <signal.h>
#include <stdatomic.h>
int data;
atomic_int handled;
void handler(int _) {
  use(data); // NORACE
  handled = 1;
}
void *receiver(void *_) {
  while (!handled)
    sched_yield();
  return 0;
}
int main(void) {
  signal(SIGUSR1, handler);
  pthread_t t = start(receiver, NULL);
  data = 1; // NORACE
  pthread_kill(t, SIGUSR1);
  join(t);
}
