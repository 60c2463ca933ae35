#include <pthread.h>
#include <stdatomic.h>
_Atomic int x;
void *worker(void *unused) {
  x++; // NORACE
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  atomic_store_explicit(&x, 2, memory_order_relaxed); // NORACE
  return x; // NORACE
}
