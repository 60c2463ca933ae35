#include <pthread.h>
int lock, data;
int __VERIFIER_atomic_cas(int *place, int expected, int new) {
  if (*place == expected) { *place = new; return 1; }
  return 0;
}
void __VERIFIER_atomic_set(int *place, int value) { *place = value; }
void *worker(void *arg) {
  while (!__VERIFIER_atomic_cas(&lock, 0, 1)) ;
  data++; // NORACE
  __VERIFIER_atomic_set(&lock, 0);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return data;
}
