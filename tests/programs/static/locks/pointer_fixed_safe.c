// The pointer to the lock is set before any thread starts.
#include <pthread.h>
#include <stdlib.h>
int x;
pthread_mutex_t *lock;
void *worker(void *unused) {
  pthread_mutex_lock(lock);
  x++; // NORACE
  pthread_mutex_unlock(lock);
  return 0;
}
int main(void) {
  pthread_t t, u;
  lock = malloc(sizeof *lock); // NORACE
  pthread_mutex_init(lock, 0);
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, worker, 0);
  return 0;
}
