// One of two functions that may be called does not lock.
#include <pthread.h>
int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
extern int __VERIFIER_nondet_int(void);
static void take(void) { pthread_mutex_lock(&m); }
static void nothing(void) {}
void (*enter)(void);
void *worker(void *unused) {
  enter();
  x++; // RACE!
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t t, u;
  enter = __VERIFIER_nondet_int() ? take : nothing;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  return 0;
}
