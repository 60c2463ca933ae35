// A re-entrant lock is held until as many releases as acquisitions.
#include <pthread.h>
int x;
pthread_mutex_t m;
void *worker(void *unused) {
  pthread_mutex_lock(&m);
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
  x++; // NORACE
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&m, &a);
  pthread_create(&t, 0, worker, 0);
  pthread_mutex_lock(&m);
  x++; // NORACE
  pthread_mutex_unlock(&m);
  return 0;
}
