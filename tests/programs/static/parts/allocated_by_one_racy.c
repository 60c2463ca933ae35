// What one thread allocates all are told of.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static int threads;
static long count;
static pthread_barrier_t barrier;
static void add(int *to, int depth) {
  to[depth]++; // RACE!
  if (depth > 0) add(to, depth - 1);
}
static void *work(void *argument) {
  long id = (long)argument;
  static int *given;
  if (id == 0) given = calloc(count, sizeof *given); // NORACE
  pthread_barrier_wait(&barrier);
  int *own = given;
  add(own, 3);
  if (id == 0) pthread_exit(0);
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
