// The element is known by its index.
#include <pthread.h>
#include <stdatomic.h>
int table[4];
_Atomic int at;
atomic_int unused;
void *first(void *_) {
  table[1] = 7; // NORACE
  at = 1;
  return 0;
}
void *second(void *_) {
  table[at] = 8; // NORACE
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
