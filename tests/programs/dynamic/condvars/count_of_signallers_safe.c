// Every worker adds to one count; who reads the full count comes after all of them, though no
// worker reads what another added.
#include "../program.h"
enum { WORKERS = 4 };
int count, results[WORKERS];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
void *worker(void *argument) {
  results[(long)argument] = 1; // NORACE
  pthread_mutex_lock(&lock);
  count++; // NORACE
  pthread_cond_signal(&cv);
  pthread_mutex_unlock(&lock);
  return 0;
}
int main(void) {
  pthread_t workers[WORKERS];
  for (long i = 0; i < WORKERS; i++)
    workers[i] = start(worker, (void *)i);
  pthread_mutex_lock(&lock);
  while (count < WORKERS) // NORACE
    pthread_cond_wait(&cv, &lock);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < WORKERS; i++)
    results[i]++; // NORACE
  for (int i = 0; i < WORKERS; i++)
    join(workers[i]);
}
