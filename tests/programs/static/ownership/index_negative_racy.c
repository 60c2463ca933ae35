// A negative index from further on.
#include <pthread.h>
#include <stdatomic.h>
int table[4];
_Atomic int at = 1;
atomic_int unused;
void *first(void *_) {
  at = -1;
  table[1] = 7; // RACE!
  at = 3;
  return 0;
}
void *second(void *_) {
  table[2 + at] = 8; // RACE!
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
