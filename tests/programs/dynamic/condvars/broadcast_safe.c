// One broadcast starts several workers.
#include "../program.h"
int data, go;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
void *worker(void *_) {
  pthread_mutex_lock(&lock);
  while (!go) // NORACE
    pthread_cond_wait(&cv, &lock);
  pthread_mutex_unlock(&lock);
  use(data); // NORACE
  return 0;
}
int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    threads[i] = start(worker, NULL);
  data = 1; // NORACE
  pthread_mutex_lock(&lock);
  go = 1; // NORACE
  pthread_cond_broadcast(&cv);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < 4; i++)
    join(threads[i]);
}
