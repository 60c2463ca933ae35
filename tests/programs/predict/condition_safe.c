// The data is written before the signal.
#include "program.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready, data;
static void *first(void *unused) {
  data = 1; // NORACE
  pthread_mutex_lock(&lock);
  ready = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  return unused;
}
static void *second(void *unused) {
  late();
  pthread_mutex_lock(&lock);
  while (!ready)
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  data = 2; // NORACE
  return unused;
}
int main(void) {
  both(first, second);
  return 0;
}
