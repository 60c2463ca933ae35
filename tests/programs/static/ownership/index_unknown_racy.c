// Any index may be there.
#include <pthread.h>
#include <stdatomic.h>
int table[4];
_Atomic int at;
int number = 1;
atomic_int unused;
void *first(void *_) {
  at = number;
  table[1] = 7; // RACE!
  at = 1;
  return 0;
}
void *second(void *_) {
  table[at] = 8; // RACE!
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
