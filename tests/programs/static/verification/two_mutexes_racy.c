extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
int n;
pthread_mutex_t m1 = PTHREAD_MUTEX_INITIALIZER, m2 = PTHREAD_MUTEX_INITIALIZER;
void *one(void *arg) {
  pthread_mutex_lock(&m1);
  n++; // RACE!
  pthread_mutex_unlock(&m1);
  return 0;
}
void *two(void *arg) {
  pthread_mutex_lock(&m2);
  n++; // RACE!
  pthread_mutex_unlock(&m2);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
