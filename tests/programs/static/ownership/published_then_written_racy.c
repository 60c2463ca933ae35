#include <pthread.h>
#include <stdlib.h>
struct item { int value; };
struct item *shared;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *worker(void *unused) {
  struct item *i = malloc(sizeof *i);
  pthread_mutex_lock(&m);
  shared = i;
  pthread_mutex_unlock(&m);
  i->value = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  pthread_mutex_lock(&m);
  if (shared) shared->value = 2; // RACE!
  pthread_mutex_unlock(&m);
  return 0;
}
