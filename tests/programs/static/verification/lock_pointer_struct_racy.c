extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
struct shared { pthread_mutex_t *lock; int *counter; };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static int counter;
static void enter(struct shared *s) { pthread_mutex_lock(s->lock); }
static void leave(struct shared *s) { pthread_mutex_unlock(s->lock); }
void *worker(void *arg) {
  struct shared *s = arg;
  enter(s);
  (*s->counter)++; // RACE!
  leave(s);
  return 0;
}
int main(void) {
  pthread_t a, b;
  struct shared x = { &m, &counter }, y = { &other, &counter };
  pthread_create(&a, 0, worker, &x);
  pthread_create(&b, 0, worker, &y);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
