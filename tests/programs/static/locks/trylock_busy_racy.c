#include <errno.h>
#include <pthread.h>
// A mutex that another thread holds is busy, and nothing else.
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int data;
static void *worker(void *argument) {
  int result = pthread_mutex_trylock(&mutex);
  if (result == EINVAL || result == EDEADLK) return 0;
  data++; // RACE!
  if (result != EBUSY) pthread_mutex_unlock(&mutex);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, 0);
  pthread_create(&b, 0, worker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return data;
}
