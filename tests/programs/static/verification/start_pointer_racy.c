extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
int n;
void *one(void *arg) { n = 1; return 0; } // RACE!
void *two(void *arg) { n = 2; return 0; } // RACE!
int main(void) {
  pthread_t a, b;
  void *(*f)(void *) = __VERIFIER_nondet_int() ? one : two;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, f, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
