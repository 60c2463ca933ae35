// Two create calls store their handle in one place.
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
  pthread_t t;
  pthread_create(&t, 0, first, 0);
  pthread_create(&t, 0, second, 0);
  pthread_join(t, 0);
  return x + y; // RACE!
}
