// The timed lock times out, and the thread goes on all the same.
#include "../program.h"
#include <time.h>
int value;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *holder(void *_) {
  pthread_mutex_lock(&lock);
  done();
  step(2);
  value = 1; // RACE!
  pthread_mutex_unlock(&lock);
  return 0;
}
void *hasty(void *_) {
  step(1);
  struct timespec past = {0, 0};
  pthread_mutex_timedlock(&lock, &past);
  value = 2; // RACE!
  done();
  return 0;
}
int main(void) { both(holder, hasty); }
