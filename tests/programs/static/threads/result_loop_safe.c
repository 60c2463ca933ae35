#include <pthread.h>
#include <stdlib.h>
void *worker(void *arg) {
  int *result = malloc(sizeof *result);
  *result = (int)(long)arg * 2; // NORACE
  return result;
}
int main(void) {
  pthread_t t[4];
  int sum = 0;
  for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, worker, (void *)i);
  for (int i = 0; i < 4; i++) {
    void *result;
    pthread_join(t[i], &result);
    sum += *(int *)result; // NORACE
    free(result);
  }
  return sum;
}
