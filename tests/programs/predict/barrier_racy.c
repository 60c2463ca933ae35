// Both write after the barrier.
#include "program.h"
static pthread_barrier_t meeting;
static int data;
static void *first(void *unused) {
  finished();
  pthread_barrier_wait(&meeting);
  data = 1; // RACE!
  return unused;
}
static void *second(void *unused) {
  late();
  pthread_barrier_wait(&meeting);
  data = 2; // RACE!
  return unused;
}
int main(void) {
  pthread_barrier_init(&meeting, NULL, 2);
  both(first, second);
  return 0;
}
