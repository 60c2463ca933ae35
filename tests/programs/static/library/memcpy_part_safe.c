#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct s { int a, b; } global;
void *one(void *arg) {
  int copy;
  memcpy(&copy, &global, sizeof copy); // NORACE
  return 0;
}
void *two(void *arg) {
  global.b = 2; // NORACE
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
