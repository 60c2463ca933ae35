#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int data[8];
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; } // NORACE
void *one(void *arg) {
  pthread_mutex_lock(&m);
  qsort(data, 8, sizeof data[0], compare); // NORACE
  pthread_mutex_unlock(&m);
  return 0;
}
void *two(void *arg) {
  pthread_mutex_lock(&m);
  data[2] = 4; // NORACE
  pthread_mutex_unlock(&m);
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
