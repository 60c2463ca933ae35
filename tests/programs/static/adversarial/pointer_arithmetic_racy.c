#include <pthread.h>
struct pair { int a, b; };
struct pair shared;
void *worker(void *unused) {
  int *p = &shared.a;
  p[1] = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  shared.b = 1; // RACE!
  return 0;
}
