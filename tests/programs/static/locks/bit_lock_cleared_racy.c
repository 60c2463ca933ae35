// The first thread gives back what it does not hold.
#include <pthread.h>
#include <stdatomic.h>
atomic_uint bits;
int n;
void *work(void *argument) {
  while (atomic_fetch_or(&bits, 1u) & 1u)
    ;
  n++; // RACE!
  atomic_fetch_and(&bits, ~1u);
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, work, 0);
  pthread_create(&u, 0, work, 0);
  atomic_fetch_and(&bits, ~1u);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
