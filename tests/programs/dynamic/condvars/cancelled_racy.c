// A thread is cancelled in its wait, and its clean-up handler counts after it has let the lock go.
#include "../program.h"
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
int waiting, count;
void leave(void *_) {
  pthread_mutex_unlock(&lock);
  count++; // RACE!
  done();
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
  pthread_mutex_lock(&lock);
  count++; // RACE!
  pthread_mutex_unlock(&lock);
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
  pthread_cancel(a);
  join(a);
  join(b);
}
