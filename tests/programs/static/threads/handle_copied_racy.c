// The handle that is joined was copied over.
#include <pthread.h>
int x, y;
void *first(void *unused) {
  x = 1; // RACE!
  return 0;
}
void *second(void *unused) {
  y = 1; // NORACE
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, first, 0);
  pthread_create(&u, 0, second, 0);
  t = u;
  pthread_join(t, 0);
  return x + y; // RACE!
}
