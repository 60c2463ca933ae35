extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
#include <stdlib.h>
int data;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *worker(void *arg) {
  pthread_mutex_lock(&m);
  data++; // NORACE
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  int n = __VERIFIER_nondet_int();
  if (n < 1 || n > 100) return 0;
  pthread_t *ids = malloc(n * sizeof *ids);
  for (int i = 0; i < n; i++) pthread_create(&ids[i], 0, worker, 0);
  for (int i = 0; i < n; i++) pthread_join(ids[i], 0);
  free(ids);
  return data; // NORACE
}
