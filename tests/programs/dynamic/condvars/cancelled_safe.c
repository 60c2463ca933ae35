// A thread is cancelled in its wait: it has the lock again when its clean-up handler runs.
#include "../program.h"
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
int waiting, count;
void leave(void *_) {
  count++; // NORACE
  pthread_mutex_unlock(&lock);
}
void *waiter(void *_) {
  pthread_mutex_lock(&lock);
  pthread_cleanup_push(leave, NULL);
  waiting = 1;
  while (1)
    pthread_cond_wait(&never, &lock);
  pthread_cleanup_pop(1);
  return 0;
}
void *counter(void *_) {
  step(1);
  for (int i = 0; i < 100; i++) {
    pthread_mutex_lock(&lock);
    count++; // NORACE
    pthread_mutex_unlock(&lock);
  }
  return 0;
}
int main(void) {
  pthread_t a = start(waiter, NULL), b = start(counter, NULL);
  int seen = 0;
  while (!seen) {
    pthread_mutex_lock(&lock);
    seen = waiting;
    pthread_mutex_unlock(&lock);
  }
  done();
  pthread_cancel(a);
  join(a);
  join(b);
}
