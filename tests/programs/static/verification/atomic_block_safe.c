extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
int lock, n;
static void acquire(void) {
  __VERIFIER_atomic_begin();
  if (lock != 0) abort(); // NORACE
  lock = 1; // NORACE
  __VERIFIER_atomic_end();
}
static void release(void) {
  __VERIFIER_atomic_begin();
  lock = 0; // NORACE
  __VERIFIER_atomic_end();
}
void *worker(void *arg) { acquire(); release(); return 0; }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return lock; // NORACE
}
