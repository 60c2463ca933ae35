// Waiting for a condition lets the thread pass.
#include <pthread.h>
pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int settings, there;
void *worker(void *unused) {
  pthread_mutex_lock(&door);
  there = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&door);
  settings++; // RACE!
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_mutex_lock(&door);
  pthread_create(&t, 0, worker, 0);
  while (!there) pthread_cond_wait(&changed, &door);
  settings = 4; // RACE!
  pthread_mutex_unlock(&door);
  pthread_join(t, 0);
  return 0;
}
