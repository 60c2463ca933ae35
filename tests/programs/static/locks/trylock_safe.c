#include <pthread.h>
int x;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *worker(void *unused) {
  if (pthread_mutex_trylock(&m) == 0) {
    x++; // NORACE
    pthread_mutex_unlock(&m);
  }
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  while (pthread_mutex_trylock(&m))
    ;
  x++; // NORACE
  pthread_mutex_unlock(&m);
  return 0;
}
