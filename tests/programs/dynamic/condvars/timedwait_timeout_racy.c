// The wait times out, and the consumer takes the data all the same.
#include "../program.h"
int data, flag;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
void *producer(void *_) {
  step(1);
  data = 1; // RACE!
  done();
  return 0;
}
void *consumer(void *_) {
  struct timespec past = {0, 0};
  pthread_mutex_lock(&lock);
  if (!flag)
    pthread_cond_timedwait(&cv, &lock, &past);
  pthread_mutex_unlock(&lock);
  done();
  step(2);
  use(data); // RACE!
  return 0;
}
int main(void) { both(producer, consumer); }
