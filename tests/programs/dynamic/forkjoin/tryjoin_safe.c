// A try-join that succeeds, and a timed one.
#include "../program.h"
#include <time.h>
int value;
void *work(void *_) {
  value++; // NORACE
  return 0;
}
int main(void) {
  pthread_t t = start(work, NULL);
  while (pthread_tryjoin_np(t, NULL) != 0)
    sched_yield();
  value++; // NORACE
  struct timespec far;
  clock_gettime(CLOCK_REALTIME, &far);
  far.tv_sec += 1000;
  t = start(work, NULL);
  if (pthread_timedjoin_np(t, NULL, &far) == 0)
    value++; // NORACE
}
