// The work is shared out in two ways at once.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static int threads;
static long count;
static pthread_barrier_t barrier;
static int *table;
static long chunk;
static void *work(void *argument) {
  long id = (long)argument;
  long low = count * id / threads, high = count * (id + 1) / threads;
  for (long i = low; i < high; i++) table[i] += 1; // RACE!
  low = id * chunk;
  high = low + chunk;
  for (long i = low; i < high; i++) table[i] = 2; // RACE!
  return 0;
}
int main(int argc, char **argv) {
  pthread_t team[64];
  threads = argc + 1;
  count = 16 * argc;
  table = calloc(count * 8, sizeof *table);
  chunk = 7;
  pthread_barrier_init(&barrier, 0, threads);
  for (long id = 0; id < threads; id++) pthread_create(&team[id], 0, work, (void *)id);
  for (long id = 0; id < threads; id++) pthread_join(team[id], 0);
  return 0;
}
