extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
int n;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void up(void) { n++; }   // NORACE
static void down(void) { n--; } // NORACE
static void nothing(void) {}
static void (*table[3])(void) = { up, down, nothing };
void *worker(void *arg) {
  int i = __VERIFIER_nondet_int();
  pthread_mutex_lock(&m);
  if (i >= 0 && i < 3) table[i]();
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return n; // NORACE
}
