#include <pthread.h>
#include <stdlib.h>
void *maker(void *arg) {
  int *result = malloc(sizeof *result);
  *result = 1; // NORACE
  pthread_exit(result);
}
void *user(void *arg) {
  *(int *)arg = 2; // RACE!
  return 0;
}
int main(void) {
  pthread_t a, b;
  void *result;
  pthread_create(&a, 0, maker, 0);
  pthread_join(a, &result);
  pthread_create(&b, 0, user, result);
  *(int *)result = 3; // RACE!
  pthread_join(b, 0);
  return 0;
}
