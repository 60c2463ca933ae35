// The look does not acquire.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
int value;
atomic_uint next, serving;
void *work(void *unused) {
  for (int i = 0; i < 20; i++) {
    unsigned mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
    while (atomic_load_explicit(&serving, memory_order_relaxed) != mine) sched_yield();
    value++; // RACE!
    atomic_store_explicit(&serving, mine + 1, memory_order_release);
  }
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
