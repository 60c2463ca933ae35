// Both results end before the byte that the other thread changes.
#include <pthread.h>
#include <stdio.h>
char buffer[64];
void *one(void *unused) {
  snprintf(buffer, sizeof buffer, "%d-%3d", 123, -7); // NORACE
  snprintf(buffer, sizeof buffer, "%.3s", "a long text"); // NORACE
  return 0;
}
void *two(void *unused) {
  buffer[20] = 1; // NORACE
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
