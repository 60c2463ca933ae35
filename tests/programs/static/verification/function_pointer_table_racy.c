extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
int n;
static void up(void) { n++; }   // RACE!
static void down(void) { n--; } // RACE!
static void nothing(void) {}
static void (*table[3])(void) = { up, down, nothing };
void *worker(void *arg) {
  int i = __VERIFIER_nondet_int();
  if (i >= 0 && i < 3) table[i]();
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
