// The pointer to the lock changes while threads run.
#include <pthread.h>
int x;
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t *lock = &a;
void *worker(void *unused) {
  pthread_mutex_t *l = lock; // RACE!
  pthread_mutex_lock(l);
  x++; // RACE!
  pthread_mutex_unlock(l);
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, 0);
  lock = &b; // RACE!
  pthread_create(&u, 0, worker, 0);
  return 0;
}
