#include <pthread.h>
#include <stdlib.h>
int *shared;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void publish(int *p) {
  pthread_mutex_lock(&m);
  shared = p;
  pthread_mutex_unlock(&m);
}
void *worker(void *unused) {
  int *p = malloc(sizeof *p);
  publish(p);
  *p = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  pthread_mutex_lock(&m);
  if (shared) *shared = 2; // RACE!
  pthread_mutex_unlock(&m);
  return 0;
}
