extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
#include <stdatomic.h>
_Atomic int n;
atomic_flag f = ATOMIC_FLAG_INIT;
int data;
void *worker(void *arg) {
  n++; // NORACE
  atomic_fetch_add_explicit(&n, 2, memory_order_relaxed); // NORACE
  if (!atomic_flag_test_and_set(&f)) data = 1; // NORACE
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return n + data; // NORACE
}
