extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
int n;
void *worker(void *arg) {
  __atomic_fetch_add(&n, 1, __ATOMIC_SEQ_CST); // RACE!
  return 0;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, worker, 0);
  __VERIFIER_assert(n >= 0); // RACE!
  pthread_join(a, 0);
  return __atomic_load_n(&n, __ATOMIC_ACQUIRE); // NORACE
}
