// What runs at the end comes after all threads.
#include <pthread.h>
#include <stdlib.h>
int x, y;
void last(void) { x = 2; } // NORACE
void *first(void *_) {
  x = 1; // NORACE
  return 0;
}
void *second(void *_) {
  y = 1;
  return 0;
}
int main(void) {
  pthread_t t, u;
  atexit(last);
  pthread_create(&t, 0, first, 0);
  pthread_create(&u, 0, second, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
