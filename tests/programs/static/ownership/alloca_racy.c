#include <alloca.h>
#include <pthread.h>
void *worker(void *p) {
  ((int *)p)[1] = 1; // RACE!
  return 0;
}
int main(void) {
  int *x = alloca(4 * sizeof *x);
  pthread_t t;
  pthread_create(&t, 0, worker, x);
  x[1] = 2; // RACE!
  pthread_join(t, 0);
  return 0;
}
