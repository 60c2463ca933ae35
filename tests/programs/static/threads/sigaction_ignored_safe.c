// A signal that is ignored runs nothing.
#include <pthread.h>
#include <signal.h>
int x;
void *work(void *unused) {
  x = 1; // NORACE
  return 0;
}
int main(void) {
  struct sigaction action = {0};
  pthread_t a;
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, 0);
  signal(SIGHUP, SIG_IGN);
  pthread_create(&a, 0, work, 0);
  pthread_join(a, 0);
  return x; // NORACE
}
