extern void abort(void);
void reach_error() { abort(); }
void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } }
extern int __VERIFIER_nondet_int(void);
#include <pthread.h>
#include <stdatomic.h>
struct { _Atomic int ready; int value; } box;
void *writer(void *arg) {
  atomic_store_explicit(&box.ready, 1, memory_order_relaxed); // NORACE
  box.value = 42; // RACE!
  return 0;
}
void *reader(void *arg) {
  if (atomic_load_explicit(&box.ready, memory_order_relaxed)) // NORACE
    __VERIFIER_assert(box.value == 42); // RACE!
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, writer, 0);
  pthread_create(&b, 0, reader, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
