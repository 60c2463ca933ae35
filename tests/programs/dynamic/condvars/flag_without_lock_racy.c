// The flag is set without the lock.
#include "../program.h"
int data, flag;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
void *producer(void *_) {
  flag = 1; // RACE!
  pthread_cond_signal(&cv);
  done();
  return 0;
}
void *consumer(void *_) {
  step(1);
  pthread_mutex_lock(&lock);
  while (!flag) // RACE!
    pthread_cond_wait(&cv, &lock);
  pthread_mutex_unlock(&lock);
  return 0;
}
int main(void) { both(producer, consumer); }
