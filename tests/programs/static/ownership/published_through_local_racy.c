// The object gets out inside another one.
#include <pthread.h>
#include <stdlib.h>
struct box { int *inner; };
struct box *shared;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *worker(void *unused) {
  int *p = malloc(sizeof *p);
  struct box *b = malloc(sizeof *b);
  b->inner = p;
  pthread_mutex_lock(&m);
  shared = b;
  pthread_mutex_unlock(&m);
  *p = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  pthread_mutex_lock(&m);
  if (shared) *shared->inner = 2; // RACE!
  pthread_mutex_unlock(&m);
  return 0;
}
