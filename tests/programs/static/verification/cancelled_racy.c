extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
int n;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *worker(void *arg) {
  for (;;) {
    pthread_mutex_lock(&m);
    n++; // RACE!
    pthread_mutex_unlock(&m);
    pthread_testcancel();
  }
}
int main(void) {
  pthread_t id;
  pthread_create(&id, 0, worker, 0);
  pthread_cancel(id);
  n = 5; // RACE!
  pthread_join(id, 0);
  return 0;
}
