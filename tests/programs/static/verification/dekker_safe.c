#include <pthread.h>
#include <stdatomic.h>
atomic_int flag0, flag1, turn;
int n;
void *first(void *argument) {
  for (int i = 0; i < 2; i++) {
    atomic_store(&flag0, 1);
    while (atomic_load(&flag1)) {
      if (atomic_load(&turn) != 0) {
        atomic_store(&flag0, 0);
        while (atomic_load(&turn) != 0)
          ;
        atomic_store(&flag0, 1);
      }
    }
    n++; // NORACE
    atomic_store(&turn, 1);
    atomic_store(&flag0, 0);
  }
  return 0;
}
void *second(void *argument) {
  for (int i = 0; i < 2; i++) {
    atomic_store(&flag1, 1);
    while (atomic_load(&flag0)) {
      if (atomic_load(&turn) != 1) {
        atomic_store(&flag1, 0);
        while (atomic_load(&turn) != 1)
          ;
        atomic_store(&flag1, 1);
      }
    }
    n++; // NORACE
    atomic_store(&turn, 0);
    atomic_store(&flag1, 0);
  }
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
