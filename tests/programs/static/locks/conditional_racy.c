// The access does not depend on the condition that the lock depends on.
#include <pthread.h>
int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
extern int __VERIFIER_nondet_int(void);
void *worker(void *unused) {
  int c = __VERIFIER_nondet_int();
  if (c) pthread_mutex_lock(&m);
  x++; // RACE!
  if (c) pthread_mutex_unlock(&m);
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
