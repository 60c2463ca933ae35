#include <pthread.h>
#include <stdint.h>
int x;
uintptr_t hidden;
void *worker(void *unused) {
  *(int *)(hidden + 1 - 1) = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  hidden = (uintptr_t)&x;
  pthread_create(&t, 0, worker, 0);
  x = 2; // RACE!
  return 0;
}
