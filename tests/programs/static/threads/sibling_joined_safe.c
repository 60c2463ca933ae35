// Whoever waits for a thread that has waited for another comes after both.
#include <pthread.h>
int x;
pthread_t first;
void *one(void *unused) {
  x = 1; // NORACE
  return 0;
}
void *two(void *unused) {
  pthread_join(first, 0);
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&first, 0, one, 0);
  pthread_create(&t, 0, two, 0);
  pthread_join(t, 0);
  return x; // NORACE
}
