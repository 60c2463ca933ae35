// One thread goes on by two.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static int threads;
static long count;
static pthread_barrier_t barrier;
static int *grid;
static long rows, columns, wide;
static void *work(void *argument) {
  long id = (long)argument;
  for (long k = 0; k < rows; k += 1 + (id == 1)) {
    if (k % threads == id)
      for (long j = 0; j < columns; j++) grid[k * columns + j] = k; // NORACE
    pthread_barrier_wait(&barrier);
    for (long i = k + 1; i < rows; i++)
      for (long j = 0; j < columns; j++)
        if (i % threads == id) grid[i * columns + j] -= grid[k * columns + j]; // RACE!
    pthread_barrier_wait(&barrier);
  }
  return 0;
}
int main(int argc, char **argv) {
  pthread_t team[64];
  threads = argc + 1;
  count = 16 * argc;
  rows = count;
  columns = 8;
  wide = 9;
  grid = calloc(rows * 16, sizeof *grid);
  pthread_barrier_init(&barrier, 0, threads);
  for (long id = 0; id < threads; id++) pthread_create(&team[id], 0, work, (void *)id);
  for (long id = 0; id < threads; id++) pthread_join(team[id], 0);
  return 0;
}
