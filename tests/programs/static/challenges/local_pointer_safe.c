// Each thread's object is a local of the function that creates and joins it.
#include <pthread.h>
void *inner(void *arg) {
  int *p = arg;
  (*p)++; // NORACE
  return 0;
}
void *outer(void *unused) {
  int value = 0;
  pthread_t t;
  pthread_create(&t, 0, inner, &value);
  pthread_join(t, 0);
  value++; // NORACE
  return 0;
}
int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, outer, 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  return 0;
}
