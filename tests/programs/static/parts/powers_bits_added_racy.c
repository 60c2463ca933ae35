// Bits are added, which carries.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static int threads;
static long count;
static pthread_barrier_t barrier;
static long rows;
static double *data;
static void turn(double *row) {
  for (long i = 1, j = 0; i < rows; i++) {
    long bit = rows >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j += 1 + bit;
    double kept = row[i]; // RACE!
    row[i] = row[j]; // RACE!
    row[j] = kept; // RACE!
  }
}
static void *work(void *argument) {
  long id = (long)argument;
  long low = rows * id / threads, high = rows * (id + 1) / threads;
  for (long row = low; row < high; row++) turn(data + row * rows);
  return 0;
}
int main(int argc, char **argv) {
  pthread_t team[64];
  threads = argc + 1;
  count = 16 * argc;
  for (rows = 1; rows < count; rows *= 2) {}
  data = calloc(rows * rows * 2, sizeof *data);
  pthread_barrier_init(&barrier, 0, threads);
  for (long id = 0; id < threads; id++) pthread_create(&team[id], 0, work, (void *)id);
  for (long id = 0; id < threads; id++) pthread_join(team[id], 0);
  return 0;
}
