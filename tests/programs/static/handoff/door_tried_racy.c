// The thread goes on when it does not get the lock.
#include <pthread.h>
pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
int settings;
void *worker(void *unused) {
  if (pthread_mutex_trylock(&door) == 0) pthread_mutex_unlock(&door);
  settings++; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_mutex_lock(&door);
  pthread_create(&t, 0, worker, 0);
  settings = 4; // RACE!
  pthread_mutex_unlock(&door);
  pthread_join(t, 0);
  return 0;
}
