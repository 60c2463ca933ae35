// Two create calls store into the handle that the other thread joins.
#include <pthread.h>
int x, y;
pthread_t first;
void *one(void *unused) {
  x = 1; // RACE!
  return 0;
}
void *other(void *unused) {
  y = 1;
  return 0;
}
void *two(void *unused) {
  pthread_join(first, 0);
  x = 2; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&first, 0, one, 0);
  pthread_create(&first, 0, other, 0);
  pthread_create(&t, 0, two, 0);
  return 0;
}
