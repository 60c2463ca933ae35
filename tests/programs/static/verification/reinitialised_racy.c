extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
pthread_mutex_t m;
int n;
void *worker(void *arg) {
  pthread_mutex_lock(&m); // RACE!
  n++;                      // RACE!
  pthread_mutex_unlock(&m); // RACE!
  return 0;
}
void *resetter(void *arg) {
  pthread_mutex_init(&m, 0); // RACE!
  return 0;
}
int main(void) {
  pthread_t a, b, c;
  pthread_mutex_init(&m, 0);
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_create(&c, 0, resetter, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  pthread_join(c, 0);
  return 0;
}
