// Rows of a matrix product, a quarter for each of four threads.
#include <pthread.h>
#include <stdio.h>
enum { SIZE = 128, THREADS = 4 };
static double a[SIZE][SIZE], b[SIZE][SIZE], c[SIZE][SIZE];
static void *work(void *part) {
  size_t from = (size_t)part * SIZE / THREADS, to = ((size_t)part + 1) * SIZE / THREADS;
  for (size_t i = from; i < to; i++)
    for (size_t j = 0; j < SIZE; j++) {
      double sum = 0;
      for (size_t k = 0; k < SIZE; k++)
        sum += a[i][k] * b[k][j];
      c[i][j] = sum;
    }
  return NULL;
}
int main(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < SIZE; i++)
    for (int j = 0; j < SIZE; j++) {
      a[i][j] = i + j;
      b[i][j] = i - j;
    }
  for (size_t i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, work, (void *)i);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  printf("%f\n", c[SIZE - 1][1]);
  return 0;
}
