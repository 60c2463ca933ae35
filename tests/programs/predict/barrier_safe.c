// One writes before the barrier, the other after.
#include "program.h"
static pthread_barrier_t meeting;
static int data;
static void *first(void *unused) {
  data = 1; // NORACE
  finished();
  pthread_barrier_wait(&meeting);
  return unused;
}
static void *second(void *unused) {
  late();
  pthread_barrier_wait(&meeting);
  data = 2; // NORACE
  return unused;
}
int main(void) {
  pthread_barrier_init(&meeting, NULL, 2);
  both(first, second);
  return 0;
}
