#include <pthread.h>
int x;
extern int y __attribute__((alias("x")));
void *one(void *arg) {
  x++; // RACE!
  return 0;
}
void *other(void *arg) {
  y++; // RACE!
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, other, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
