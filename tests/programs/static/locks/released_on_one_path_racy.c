// The lock is gone when the early branch was taken.
#include <pthread.h>
int x, flag;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
extern int __VERIFIER_nondet_int(void);
void *worker(void *unused) {
  pthread_mutex_lock(&m);
  if (__VERIFIER_nondet_int()) pthread_mutex_unlock(&m);
  x++; // RACE!
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  pthread_mutex_lock(&m);
  x++; // RACE!
  pthread_mutex_unlock(&m);
  return 0;
}
