// A timed wait in its loop.
#include "../program.h"
#include <time.h>
int data, flag;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
void *producer(void *_) {
  data = 1; // NORACE
  pthread_mutex_lock(&lock);
  flag = 1; // NORACE
  pthread_cond_signal(&cv);
  pthread_mutex_unlock(&lock);
  return 0;
}
void *consumer(void *_) {
  struct timespec far;
  clock_gettime(CLOCK_REALTIME, &far);
  far.tv_sec += 1000;
  pthread_mutex_lock(&lock);
  while (!flag) // NORACE
    pthread_cond_timedwait(&cv, &lock, &far);
  pthread_mutex_unlock(&lock);
  use(data); // NORACE
  return 0;
}
int main(void) { both(producer, consumer); }
