// What fork calls before it is the program's own code, and races with another thread's.
#include "../program.h"
#include <sys/wait.h>
int forks;
void *worker(void *_) {
  forks = 1; // RACE!
  done();
  return 0;
}
void before(void) {
  forks++; // RACE!
}
int main(void) {
  pthread_atfork(before, NULL, NULL);
  pthread_t thread = start(worker, 0);
  step(1);
  if (fork() == 0)
    _exit(0);
  wait(NULL);
  join(thread);
}
