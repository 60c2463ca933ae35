// Each thread brings a state of its own, or takes the lock for the one that all share.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long thrown[2];

static void *thrower(void *slot) {
  unsigned short own[3] = {1, 2, 3};
  long result = nrand48(own); // NORACE
  pthread_mutex_lock(&lock);
  *(long *)slot = result + lrand48(); // NORACE
  pthread_mutex_unlock(&lock);
  return 0;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], 0, thrower, &thrown[0]);
  pthread_create(&threads[1], 0, thrower, &thrown[1]);
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
  return thrown[0] == thrown[1];
}
