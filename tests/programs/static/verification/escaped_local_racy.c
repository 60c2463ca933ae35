extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
void *worker(void *arg) {
  *(int *)arg = 1; // RACE!
  return 0;
}
static void start(pthread_t *id, int *p) { pthread_create(id, 0, worker, p); }
int main(void) {
  pthread_t id;
  int local = 0;
  start(&id, &local);
  local = 2; // RACE!
  pthread_join(id, 0);
  return local; // NORACE
}
