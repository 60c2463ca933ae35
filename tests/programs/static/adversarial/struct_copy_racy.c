#include <pthread.h>
struct pair { int a, b; };
struct pair shared, other;
void *worker(void *unused) {
  shared = other; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  shared.b = 1; // RACE!
  return 0;
}
