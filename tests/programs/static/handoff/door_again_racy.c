// The creator holds the lock again, after the thread may have passed.
#include <pthread.h>
pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
int settings;
void *worker(void *unused) {
  pthread_mutex_lock(&door);
  pthread_mutex_unlock(&door);
  settings++; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_mutex_lock(&door);
  pthread_create(&t, 0, worker, 0);
  pthread_mutex_unlock(&door);
  pthread_mutex_lock(&door);
  settings = 4; // RACE!
  pthread_mutex_unlock(&door);
  pthread_join(t, 0);
  return 0;
}
