// The width makes the result longer than the number.
#include <pthread.h>
#include <stdio.h>
char buffer[64];
void *one(void *unused) {
  snprintf(buffer, sizeof buffer, "%12d", 7); // RACE!
  return 0;
}
void *two(void *unused) {
  buffer[10] = 1; // RACE!
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
