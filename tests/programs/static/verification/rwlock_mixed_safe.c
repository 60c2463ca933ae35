extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
int n;
void *worker(void *arg) {
  pthread_rwlock_rdlock(&l);
  int zero = n == 0; // NORACE
  pthread_rwlock_unlock(&l);
  if (zero) {
    pthread_rwlock_wrlock(&l);
    n = 1; // NORACE
    pthread_rwlock_unlock(&l);
  }
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
