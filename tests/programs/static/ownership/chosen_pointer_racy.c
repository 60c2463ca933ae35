// A choice between two objects publishes both.
#include <pthread.h>
#include <stdlib.h>
int *shared;
extern int __VERIFIER_nondet_int(void);
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *worker(void *unused) {
  int *p = malloc(sizeof *p), *q = malloc(sizeof *q);
  int *r = __VERIFIER_nondet_int() ? p : q;
  pthread_mutex_lock(&m);
  shared = r;
  pthread_mutex_unlock(&m);
  *p = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  pthread_mutex_lock(&m);
  if (shared) *shared = 2; // RACE!
  pthread_mutex_unlock(&m);
  return 0;
}
