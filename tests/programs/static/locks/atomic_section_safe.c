extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
#include <pthread.h>
int x;
void *worker(void *unused) {
  __VERIFIER_atomic_begin();
  x++; // NORACE
  __VERIFIER_atomic_end();
  return 0;
}
void __VERIFIER_atomic_add(void) {
  x += 2; // NORACE
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  __VERIFIER_atomic_add();
  return 0;
}
