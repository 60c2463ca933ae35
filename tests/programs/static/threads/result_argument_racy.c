#include <pthread.h>
int shared;
void *same(void *arg) { return arg; }
void *user(void *arg) {
  shared = 2; // RACE!
  return 0;
}
int main(void) {
  pthread_t a, b;
  void *result;
  pthread_create(&a, 0, user, 0);
  pthread_create(&b, 0, same, &shared);
  pthread_join(b, &result);
  *(int *)result = 3; // RACE!
  pthread_join(a, 0);
  return 0;
}
