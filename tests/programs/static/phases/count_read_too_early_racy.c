// More threads than the barrier was set up for: how many was read before the number changed.
#include <pthread.h>
#include <stdlib.h>
static int threads = 2;
static pthread_barrier_t barrier;
static int value;
static void *work(void *argument) {
  long id = (long)argument;
  int seen = value; // RACE!
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  return (void *)(seen + id);
}
static void *change(void *argument) {
  pthread_barrier_wait(&barrier);
  value = 1; // RACE!
  pthread_barrier_wait(&barrier);
  return argument;
}
static void start(int many) {
  pthread_t all[64], one;
  for (long id = 0; id < many; id++)
    pthread_create(&all[id], 0, work, (void *)id);
  pthread_create(&one, 0, change, 0);
  for (int id = 0; id < many; id++)
    pthread_join(all[id], 0);
  pthread_join(one, 0);
}
static void prepare(int argc, char **argv) {
  threads = argc > 1 ? atoi(argv[1]) : 2;
  pthread_barrier_init(&barrier, 0, (unsigned)threads + 1);
}
int main(int argc, char **argv) {
  int many = threads = 8;
  prepare(argc, argv);
  start(many);
  return 0;
}
