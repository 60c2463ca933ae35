extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
#include <pthread.h>
int x;
void *worker(void *unused) {
  __VERIFIER_atomic_begin();
  x++; // RACE!
  __VERIFIER_atomic_end();
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  x += 2; // RACE!
  return 0;
}
