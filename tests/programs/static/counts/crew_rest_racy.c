// Any multiple of three lets it through.
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
  for (long i = 0; i < argc; i++) {
    pthread_t t;
    pthread_mutex_lock(&mutex);
    at_work++; // NORACE
    pthread_mutex_unlock(&mutex);
    pthread_create(&t, 0, worker, (void *)i);
    pthread_detach(t);
  }
  pthread_mutex_lock(&mutex);
  while (at_work % 3) pthread_cond_wait(&less, &mutex); // NORACE
  pthread_mutex_unlock(&mutex);
  return (int)results; // RACE!
}
