// One of them is not counted.
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
int main(int argc, char **argv) {
  pthread_t other;
  pthread_create(&other, 0, worker, 0);
  for (long i = 0; i < argc; i++) {
    pthread_t t;
    pthread_mutex_lock(&mutex);
    at_work++; // NORACE
    pthread_mutex_unlock(&mutex);
    pthread_create(&t, 0, worker, (void *)i);
    pthread_detach(t);
  }
  pthread_mutex_lock(&mutex);
  while (at_work > 0) pthread_cond_wait(&less, &mutex); // NORACE
  pthread_mutex_unlock(&mutex);
  return (int)results; // RACE!
}
