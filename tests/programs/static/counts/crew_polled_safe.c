// What was looked at under the lock is compared when the lock has been given up.
#include <pthread.h>
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t less = PTHREAD_COND_INITIALIZER;
int at_work;
long results;
void *worker(void *own) {
  __sync_fetch_and_add(&results, (long)own); // NORACE
  pthread_mutex_lock(&mutex);
  at_work--; // NORACE
  pthread_cond_signal(&less);
  pthread_mutex_unlock(&mutex);
  return 0;
}
int main(int argc, char **argv) {
  for (long i = 0; i < argc; i++) {
    pthread_t t;
    pthread_mutex_lock(&mutex);
    at_work++; // NORACE
    pthread_mutex_unlock(&mutex);
    pthread_create(&t, 0, worker, (void *)i);
    pthread_detach(t);
  }
  for (;;) {
    pthread_mutex_lock(&mutex);
    int left = at_work; // NORACE
    pthread_mutex_unlock(&mutex);
    if (left == 0) break;
  }
  return (int)results; // NORACE
}
