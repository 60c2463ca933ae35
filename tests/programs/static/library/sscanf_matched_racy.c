// The second number is there, so it is stored.
#include <pthread.h>
#include <stdio.h>
int first, second;
void *one(void *unused) {
  sscanf("42 17", "%d %d", &first, &second); // RACE!
  return 0;
}
void *two(void *unused) {
  second = 1; // RACE!
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
