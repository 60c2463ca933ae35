extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
int *shown;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *worker(void *arg) {
  int *p;
  pthread_mutex_lock(&m);
  p = shown;
  pthread_mutex_unlock(&m);
  if (p) *p = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t id;
  int local = 0;
  pthread_create(&id, 0, worker, 0);
  pthread_mutex_lock(&m);
  shown = &local;
  pthread_mutex_unlock(&m);
  local = 2; // RACE!
  pthread_join(id, 0);
  return 0;
}
