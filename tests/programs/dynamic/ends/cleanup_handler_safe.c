// A cleanup handler of a cancelled thread unlocks.
#include "../program.h"
int value;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void unlock(void *_) { pthread_mutex_unlock(&lock); }
void *work(void *_) {
  pthread_mutex_lock(&lock);
  pthread_cleanup_push(unlock, NULL);
  value = 1; // NORACE
  done();
  for (;;)
    pause();
  pthread_cleanup_pop(1);
  return 0;
}
int main(void) {
  pthread_t t = start(work, NULL);
  step(1);
  pthread_cancel(t);
  pthread_mutex_lock(&lock);
  value = 2; // NORACE
  pthread_mutex_unlock(&lock);
  join(t);
}
