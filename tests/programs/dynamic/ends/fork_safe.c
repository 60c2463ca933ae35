// A child process has memory of its own.
#include "../program.h"
#include <sys/wait.h>
int value;
void *work(void *_) {
  value = 1; // NORACE
  done();
  return 0;
}
int main(void) {
  pthread_t t = start(work, NULL);
  step(1);
  pid_t child = fork();
  if (child == 0)
    _exit(0);
  waitpid(child, NULL, 0);
  join(t);
  use(value); // NORACE
}
