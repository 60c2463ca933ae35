// Two different mutexes exclude nothing.
#include <pthread.h>
int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
void *worker(void *unused) {
  pthread_mutex_lock(&m);
  x++; // RACE!
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  pthread_mutex_lock(&n);
  x++; // RACE!
  pthread_mutex_unlock(&n);
  pthread_join(t, 0);
  return x; // NORACE
}
