#include <pthread.h>
struct pair { int a, b; };
struct pair shared;
void *worker(void *unused) {
  shared.a = 1; // NORACE
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  shared.b = 1; // NORACE
  return 0;
}
