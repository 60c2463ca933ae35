extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
#include <stdlib.h>
typedef struct { pthread_mutex_t m; int x; } object;
void *worker(void *arg) {
  object *o = arg;
  pthread_mutex_lock(&o->m); // RACE!
  o->x++; // RACE!
  pthread_mutex_unlock(&o->m); // RACE!
  return 0;
}
int main(void) {
  pthread_t a, b;
  object *o = malloc(sizeof *o);
  if (!o) return 1;
  pthread_mutex_init(&o->m, 0);
  pthread_create(&a, 0, worker, o);
  pthread_create(&b, 0, worker, o);
  pthread_join(a, 0);
  free(o); // RACE!
  pthread_join(b, 0);
  return 0;
}
