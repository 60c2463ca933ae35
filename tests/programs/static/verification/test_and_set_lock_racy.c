#include <pthread.h>
#include <stdatomic.h>
static atomic_flag busy = ATOMIC_FLAG_INIT;
static int count;
void *worker(void *arg) {
  for (int i = 0; i < 4; i++) {
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) ;
    count++; // RACE!
    atomic_flag_clear_explicit(&busy, memory_order_relaxed);
  }
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return count;
}
