#include <pthread.h>
#include <stdlib.h>
int compared;
int values[4];
static int compare(const void *a, const void *b) {
  compared++; // RACE!
  return *(const int *)a - *(const int *)b;
}
void *worker(void *unused) {
  qsort(values, 4, sizeof *values, compare); // RACE!
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  return 0;
}
