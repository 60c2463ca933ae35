// The comparison comes through a volatile pointer; it may be the one that counts.
#include <pthread.h>
#include <stdlib.h>
int comparisons;
int compare(const void *a, const void *b) {
  comparisons++; // RACE!
  return *(const int *)a - *(const int *)b;
}
int (*volatile chosen)(const void *, const void *) = compare;
void *sort(void *unused) {
  int numbers[] = {3, 1, 2};
  qsort(numbers, 3, sizeof *numbers, (int (*)(const void *, const void *))(unsigned long)chosen);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, sort, 0);
  pthread_create(&b, 0, sort, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
}
