// The bound is read before the number gets its last value.
#include <pthread.h>
#include <stdlib.h>
static int threads = 8;
static pthread_barrier_t barrier;
static int value;
static void *work(void *argument) {
  value = 1; // RACE!
  pthread_barrier_wait(&barrier);
  return argument;
}
static void *change(void *argument) {
  pthread_barrier_wait(&barrier);
  value = 2; // RACE!
  return argument;
}
int main(int argc, char **argv) {
  pthread_t all[64], one;
  int many = threads;
  threads = atoi(argv[1]);
  pthread_barrier_init(&barrier, 0, (unsigned)threads + 1);
  for (long id = 0; id < many; id++)
    pthread_create(&all[id], 0, work, (void *)id);
  pthread_create(&one, 0, change, 0);
  for (int id = 0; id < many; id++)
    pthread_join(all[id], 0);
  pthread_join(one, 0);
  return 0;
}
