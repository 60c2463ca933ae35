#include <pthread.h>
struct { int a, b; } s;
void *one(void *arg) {
  s.b = 1; // RACE!
  return 0;
}
void *other(void *arg) {
  *(long *)&s = 5; // RACE!
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
