// The state of lrand48 is one for all threads, and the library takes no lock for it.
#include <pthread.h>
#include <stdlib.h>

static long thrown[2];

static void *thrower(void *slot) {
  *(long *)slot = lrand48(); // RACE!
  return 0;
}

int main(void) {
  pthread_t threads[2];
  srand48(7); // NORACE
  pthread_create(&threads[0], 0, thrower, &thrown[0]);
  pthread_create(&threads[1], 0, thrower, &thrown[1]);
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
  return thrown[0] == thrown[1];
}
