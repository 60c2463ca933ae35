// The atomic section ends with the function.
#include <pthread.h>
int x, y;
void __VERIFIER_atomic_step(void) { y++; }
void *worker(void *unused) {
  __VERIFIER_atomic_step();
  x++; // RACE!
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  return 0;
}
