// As many threads as the barrier was set up for, by a number that is read at the start.
#include <pthread.h>
#include <stdlib.h>
static int threads = 2;
static pthread_barrier_t barrier;
static int value;
static void *work(void *argument) {
  long id = (long)argument;
  int seen = value; // NORACE
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  return (void *)(seen + id);
}
static void *change(void *argument) {
  pthread_barrier_wait(&barrier);
  value = 1; // NORACE
  pthread_barrier_wait(&barrier);
  return argument;
}
static void prepare(int argc, char **argv) {
  threads = argc > 1 ? atoi(argv[1]) : 2;
  pthread_barrier_init(&barrier, 0, (unsigned)threads + 1);
}
static void start(void) {
  pthread_t all[64], one;
  for (long id = 0; id < threads; id++)
    pthread_create(&all[id], 0, work, (void *)id);
  pthread_create(&one, 0, change, 0);
  for (int id = 0; id < threads; id++)
    pthread_join(all[id], 0);
  pthread_join(one, 0);
}
int main(int argc, char **argv) {
  prepare(argc, argv);
  start();
  return 0;
}
