#include <pthread.h>
#include <stdatomic.h>
// Both may find the other flag as it was before: release and acquire do not forbid it.
atomic_int flag0, flag1, turn;
int n;
void *first(void *argument) {
  atomic_store_explicit(&flag0, 1, memory_order_release);
  atomic_store(&turn, 1);
  while (atomic_load_explicit(&flag1, memory_order_acquire) && atomic_load(&turn) == 1)
    ;
  n++; // RACE!
  atomic_store(&flag0, 0);
  return 0;
}
void *second(void *argument) {
  atomic_store_explicit(&flag1, 1, memory_order_release);
  atomic_store(&turn, 0);
  while (atomic_load_explicit(&flag0, memory_order_acquire) && atomic_load(&turn) == 0)
    ;
  n++; // RACE!
  atomic_store(&flag1, 0);
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, first, 0);
  pthread_create(&u, 0, second, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
