// Another thread is started between the look and what it decides.
#include <pthread.h>
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t less = PTHREAD_COND_INITIALIZER;
int at_work;
long results;
void *worker(void *own) {
  __sync_fetch_and_add(&results, (long)own); // RACE!
  pthread_mutex_lock(&mutex);
  at_work--; // NORACE
  pthread_cond_signal(&less);
  pthread_mutex_unlock(&mutex);
  return 0;
}
int main(void) {
  for (;;) {
    pthread_mutex_lock(&mutex);
    int left = at_work; // NORACE
    pthread_mutex_unlock(&mutex);
    pthread_t t;
    pthread_mutex_lock(&mutex);
    at_work++; // NORACE
    pthread_mutex_unlock(&mutex);
    pthread_create(&t, 0, worker, 0);
    if (left == 0) break;
  }
  return (int)results; // RACE!
}
