// The other thread was joined.
#include <pthread.h>
int x, y;
void *worker(void *unused) {
  x = 1; // RACE!
  return 0;
}
void *other(void *unused) {
  y = 1; // NORACE
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, other, 0);
  pthread_join(u, 0);
  y = 2; // NORACE
  return x; // RACE!
}
