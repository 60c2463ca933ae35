// The index of the field read goes on into the field written.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static int threads;
static long count;
static pthread_barrier_t barrier;
struct item { int place[3], force[3]; };
static struct item *items;
static void *work(void *argument) {
  long id = (long)argument;
  long low = count * id / threads, high = count * (id + 1) / threads;
  for (long i = low; i < high; i++)
    for (int k = 0; k < 4; k++)
      ((int *)&items[i])[5 - k] += ((int *)&items[i + 1 < count ? i + 1 : 0])[k]; // RACE!
  return 0;
}
int main(int argc, char **argv) {
  pthread_t team[64];
  threads = argc + 1;
  count = 16 * argc;
  items = calloc(count, sizeof *items);
  pthread_barrier_init(&barrier, 0, threads);
  for (long id = 0; id < threads; id++) pthread_create(&team[id], 0, work, (void *)id);
  for (long id = 0; id < threads; id++) pthread_join(team[id], 0);
  return 0;
}
