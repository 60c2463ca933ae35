// Another way leads there, too.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static int threads;
static long count;
static pthread_barrier_t barrier;
static int x;
static void *work(void *argument) {
  long id = (long)argument;
  if (id == 0 || count > 8) x++; // RACE!
  return 0;
}
int main(int argc, char **argv) {
  pthread_t team[64];
  threads = argc + 1;
  count = 16 * argc;
  pthread_barrier_init(&barrier, 0, threads);
  for (long id = 0; id < threads; id++) pthread_create(&team[id], 0, work, (void *)id);
  for (long id = 0; id < threads; id++) pthread_join(team[id], 0);
  return 0;
}
