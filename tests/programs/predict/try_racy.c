// The access does not wait for the lock it tried.
#include "program.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int data;
static void *first(void *unused) {
  pthread_mutex_lock(&lock);
  data = 1; // RACE!
  pthread_mutex_unlock(&lock);
  return unused;
}
static void *second(void *unused) {
  late();
  int busy = pthread_mutex_trylock(&lock);
  if (!busy)
    pthread_mutex_unlock(&lock);
  data = 2; // RACE!
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
