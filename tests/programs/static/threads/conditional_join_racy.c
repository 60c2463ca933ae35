#include <pthread.h>
int x;
extern int __VERIFIER_nondet_int(void);
void *worker(void *unused) {
  x = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  if (__VERIFIER_nondet_int()) pthread_join(t, 0);
  return x; // RACE!
}
