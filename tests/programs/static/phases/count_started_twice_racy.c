// The threads are started twice, and only then as many wait as the barrier is set up for.
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
    pthread_detach(all[id]);
  pthread_detach(one);
}
int main(int argc, char **argv) {
  prepare(argc, argv);
  start();
  start();
  return 0;
}
