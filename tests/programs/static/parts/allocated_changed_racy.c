// The function passes something else on to itself.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static int threads;
static long count;
static pthread_barrier_t barrier;
static int *kept;
static void add(int *to, int depth) {
  to[depth]++; // RACE!
  if (depth > 0) add(kept, depth - 1);
}
static void *work(void *argument) {
  long id = (long)argument;
  int *own = calloc(count, sizeof *own);
  add(own, 3);
  free(own);
  return 0;
}
int main(int argc, char **argv) {
  pthread_t team[64];
  threads = argc + 1;
  count = 16 * argc;
  kept = calloc(count, sizeof *kept);
  pthread_barrier_init(&barrier, 0, threads);
  for (long id = 0; id < threads; id++) pthread_create(&team[id], 0, work, (void *)id);
  for (long id = 0; id < threads; id++) pthread_join(team[id], 0);
  return 0;
}
