extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
struct box { pthread_mutex_t m; int *n; };
static int n;
static void bump(struct box b) {
  pthread_mutex_lock(&b.m);
  (*b.n)++; // RACE!
  pthread_mutex_unlock(&b.m);
}
static struct box shared = { PTHREAD_MUTEX_INITIALIZER, &n };
void *worker(void *arg) { bump(shared); return 0; }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
