#include <pthread.h>
#include <stdatomic.h>
int first, second;
atomic_int stage;
void *worker(void *arg) {
  first = 1; // NORACE
  atomic_store_explicit(&stage, 1, memory_order_release);
  second = 2; // RACE!
  atomic_store_explicit(&stage, 2, memory_order_release);
  return 0;
}
int main(void) {
  pthread_t t;
  int sum = 0;
  pthread_create(&t, 0, worker, 0);
  if (atomic_load_explicit(&stage, memory_order_acquire) >= 1) {
    sum += first;  // NORACE
    sum += second; // RACE!
  }
  pthread_join(t, 0);
  return sum;
}
