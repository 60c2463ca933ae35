#include <pthread.h>
#include <stdatomic.h>
int x;
void *worker(void *unused) {
  __atomic_fetch_add(&x, 1, __ATOMIC_SEQ_CST); // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  return x; // RACE!
}
