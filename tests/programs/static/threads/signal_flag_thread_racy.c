// The handler may run in the main thread while the other one looks.
#include <pthread.h>
#include <signal.h>
volatile sig_atomic_t seen;
void handler(int number) {
  seen = 1; // RACE!
}
void *work(void *unused) {
  return (void *)(long)seen; // RACE!
}
int main(void) {
  pthread_t a;
  signal(SIGUSR1, handler);
  pthread_create(&a, 0, work, 0);
  raise(SIGUSR1);
  pthread_join(a, 0);
  return 0;
}
