// What a thread returns may be known to others as well.
#include <pthread.h>
#include <stdlib.h>
int *last;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *maker(void *arg) {
  int *result = malloc(sizeof *result);
  *result = 1; // NORACE
  pthread_mutex_lock(&m);
  last = result;
  pthread_mutex_unlock(&m);
  return result;
}
void *user(void *arg) {
  pthread_mutex_lock(&m);
  int *found = last;
  pthread_mutex_unlock(&m);
  if (found) *found = 3; // RACE!
  return 0;
}
int main(void) {
  pthread_t a, b;
  void *result;
  pthread_create(&a, 0, user, 0);
  pthread_create(&b, 0, maker, 0);
  pthread_join(b, &result);
  int seen = *(int *)result; // RACE!
  pthread_join(a, 0);
  return seen;
}
