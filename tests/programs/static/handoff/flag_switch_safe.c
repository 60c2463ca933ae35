#include <pthread.h>
#include <stdatomic.h>
int first, second;
atomic_int stage;
void *worker(void *arg) {
  first = 1; // NORACE
  atomic_store_explicit(&stage, 1, memory_order_release);
  second = 2; // NORACE
  atomic_store_explicit(&stage, 2, memory_order_release);
  return 0;
}
int main(void) {
  pthread_t t;
  int sum = 0;
  pthread_create(&t, 0, worker, 0);
  switch (atomic_load_explicit(&stage, memory_order_acquire)) {
  case 2:
    sum += second; // NORACE
    break;
  case 1:
    sum += first; // NORACE
    break;
  }
  pthread_join(t, 0);
  return sum;
}
