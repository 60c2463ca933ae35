// Own rows are written where others write their columns.
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
  long low = rows * id / threads, high = rows * (id + 1) / threads;
  for (long row = low; row < high; row++)
    for (long column = 0; column < columns; column++) {
      grid[row * columns + column] = 1; // RACE!
      grid[column * columns + row] = 2; // RACE!
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
