// A thread asks for its synchronisation to be ignored; what a signal's handler publishes meanwhile is still an order.
#include "../program.h"
#include <signal.h>
__attribute__((weak)) void AnnotateIgnoreSyncBegin(const char *file, int line);
__attribute__((weak)) void AnnotateIgnoreSyncEnd(const char *file, int line);
static int data, ready, over, listening;
static void handler(int number) {
  data = number; // NORACE
  __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
}
void *interrupted(void *_) {
  if (AnnotateIgnoreSyncBegin)
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
  __atomic_store_n(&listening, 1, __ATOMIC_RELAXED);
  while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
    sched_yield();
  if (AnnotateIgnoreSyncEnd)
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
  return 0;
}
int main(void) {
  struct sigaction action = {0};
  action.sa_handler = handler;
  sigaction(SIGUSR1, &action, NULL);
  pthread_t thread = start(interrupted, 0);
  while (!__atomic_load_n(&listening, __ATOMIC_RELAXED))
    sched_yield();
  pthread_kill(thread, SIGUSR1);
  while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
    sched_yield();
  use(data); // NORACE
  __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
  join(thread);
}
