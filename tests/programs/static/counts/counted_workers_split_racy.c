// The lock is given away between the load and the store, so counts get lost and come again.
#include <pthread.h>
enum { WORKERS = 2 };
int count, results[WORKERS];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t full = PTHREAD_COND_INITIALIZER;
void *worker(void *argument) {
  results[(long)argument] = 1; // RACE!
  pthread_mutex_lock(&lock);
  int seen = count;
  pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&lock);
  count = seen + 2;
  pthread_cond_signal(&full);
  pthread_mutex_unlock(&lock);
  return 0;
}
int main(void) {
  pthread_t workers[WORKERS];
  for (long i = 0; i < WORKERS; i++) pthread_create(&workers[i], 0, worker, (void *)i);
  pthread_mutex_lock(&lock);
  while (count < WORKERS) pthread_cond_wait(&full, &lock);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < WORKERS; i++) results[i]++; // RACE!
  for (int i = 0; i < WORKERS; i++) pthread_join(workers[i], 0);
  return 0;
}
