extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
static int flag;
static int count;

static void take(void) { while (!__sync_bool_compare_and_swap(&flag, 0, 1)) ; }
static void give(void) { __sync_lock_release(&flag); }
void *worker(void *arg) {
  take();
  count++; // NORACE
  give();
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
