// Two arrays change places, and nobody waits.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static int threads;
static long count;
static pthread_barrier_t barrier;
static int *from, *to;
static int *make(void) {
  int *made = calloc(count + 1, sizeof *made);
  if (!made) abort();
  return made;
}
static void *work(void *argument) {
  long id = (long)argument;
  long low = count * id / threads, high = count * (id + 1) / threads;
  int *here = from, *there = to;
  for (int round = 0; round < 4; round++) {
    for (long i = low; i < high; i++) there[i] = here[(i + 1) % count]; // RACE!
    int *turn = here;
    here = there;
    there = turn;
  }
  return 0;
}
int main(int argc, char **argv) {
  pthread_t team[64];
  threads = argc + 1;
  count = 16 * argc;
  from = make();
  to = make();
  pthread_barrier_init(&barrier, 0, threads);
  for (long id = 0; id < threads; id++) pthread_create(&team[id], 0, work, (void *)id);
  for (long id = 0; id < threads; id++) pthread_join(team[id], 0);
  return 0;
}
