extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
#include <stdlib.h>
void *worker(void *arg) {
  int *result = malloc(sizeof *result);
  *result = 7; // NORACE
  return result;
}
int main(void) {
  pthread_t a, b;
  void *x, *y;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, &x);
  pthread_join(b, &y);
  int sum = *(int *)x + *(int *)y; // NORACE
  free(x);
  free(y);
  return sum;
}
