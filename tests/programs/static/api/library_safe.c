// api
#include <pthread.h>
static int calls;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void record(void) {
  pthread_mutex_lock(&m);
  calls++; // NORACE
  pthread_mutex_unlock(&m);
}
int recorded(void) {
  pthread_mutex_lock(&m);
  int n = calls; // NORACE
  pthread_mutex_unlock(&m);
  return n;
}
