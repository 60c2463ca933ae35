extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
int n;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *leaf(void *arg) {
  pthread_mutex_lock(&m);
  n++; // RACE!
  pthread_mutex_unlock(&m);
  return 0;
}
void *middle(void *arg) {
  pthread_t id;
  pthread_create(&id, 0, leaf, 0);
  return 0;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, middle, 0);
  pthread_join(a, 0);
  return n; // RACE!
}
