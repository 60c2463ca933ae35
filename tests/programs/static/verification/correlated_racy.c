extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int n, use_lock;
void *worker(void *arg) {
  if (use_lock) pthread_mutex_lock(&m); // RACE!
  n++; // RACE!
  if (use_lock) pthread_mutex_unlock(&m); // RACE!
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  use_lock = __VERIFIER_nondet_int(); // RACE!
  pthread_join(a, 0);
  pthread_join(b, 0);
  return n;
}
