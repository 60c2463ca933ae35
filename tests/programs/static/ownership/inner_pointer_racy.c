// A library function returns a pointer into the object.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
char *shared;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *worker(void *unused) {
  char *p = malloc(16);
  strcpy(p, "a=b");
  char *q = strchr(p, '=');
  pthread_mutex_lock(&m);
  shared = q;
  pthread_mutex_unlock(&m);
  p[1] = ':'; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  pthread_mutex_lock(&m);
  if (shared) *shared = 0; // RACE!
  pthread_mutex_unlock(&m);
  return 0;
}
