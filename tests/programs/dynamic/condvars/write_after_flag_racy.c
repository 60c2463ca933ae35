// The data is written after the flag, before the signal.
#include "../program.h"
int data, flag;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
void *producer(void *_) {
  pthread_mutex_lock(&lock);
  flag = 1; // NORACE
  pthread_mutex_unlock(&lock);
  data++; // RACE!
  pthread_cond_signal(&cv);
  done();
  return 0;
}
void *consumer(void *_) {
  step(1);
  pthread_mutex_lock(&lock);
  while (!flag) // NORACE
    pthread_cond_wait(&cv, &lock);
  pthread_mutex_unlock(&lock);
  use(data); // RACE!
  return 0;
}
int main(void) { both(producer, consumer); }
