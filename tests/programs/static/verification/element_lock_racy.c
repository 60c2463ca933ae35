extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
struct cell { pthread_mutex_t m; int v; } cells[8];

void *worker(void *arg) {
  int i = __VERIFIER_nondet_int(), j = __VERIFIER_nondet_int();
  if (i < 0 || i >= 8 || j < 0 || j >= 8) return 0;
  pthread_mutex_lock(&cells[i].m);
  cells[j].v++; // RACE!
  pthread_mutex_unlock(&cells[i].m);
  return 0;
}

int main(void) {
  pthread_t a, b;
  for (int i = 0; i < 8; i++) pthread_mutex_init(&cells[i].m, 0);
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
