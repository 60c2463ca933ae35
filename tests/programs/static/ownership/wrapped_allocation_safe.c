// What a function allocates for its callers is another object for each of them.
#include <pthread.h>
#include <stdlib.h>
static void *checked(size_t size) {
  void *p = malloc(size);
  if (!p) abort();
  return p;
}
static int *numbers(int n) {
  int *p = checked(n * sizeof *p);
  for (int i = 0; i < n; i++) p[i] = i;
  return p;
}
int *a, *b, total, n = 50;
void *up(void *unused) {
  for (int i = 0; i < n; i++) a[i]++; // NORACE
  return 0;
}
void *down(void *unused) {
  for (int i = 0; i < n; i++) b[i]--; // NORACE
  return 0;
}
int main(int argc, char **argv) {
  pthread_t *threads = checked(2 * sizeof *threads);
  a = numbers(n);
  b = numbers(n);
  pthread_create(&threads[0], 0, up, 0);
  pthread_create(&threads[1], 0, down, 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  for (int i = 0; i < n; i++) total += a[i] + b[i]; // NORACE
  free(threads);
  free(a); // NORACE
  free(b); // NORACE
  return total;
}
