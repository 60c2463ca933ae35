// A timed lock that succeeds protects like any other.
#include "../program.h"
#include <time.h>
int value;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *work(void *_) {
  struct timespec far;
  clock_gettime(CLOCK_REALTIME, &far);
  far.tv_sec += 1000;
  if (pthread_mutex_timedlock(&lock, &far) == 0) {
    value++; // NORACE
    pthread_mutex_unlock(&lock);
  }
  return 0;
}
int main(void) { both(work, work); }
