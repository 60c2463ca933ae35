// The object comes back from a function under another name and is published by it.
#include <pthread.h>
#include <stdlib.h>
int *shared, spare;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
extern int __VERIFIER_nondet_int(void);
static int *pick(int *p) {
  if (__VERIFIER_nondet_int()) return &spare;
  return p;
}
void *worker(void *unused) {
  int *p = malloc(sizeof *p);
  int *q = pick(p);
  pthread_mutex_lock(&m);
  shared = q;
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
