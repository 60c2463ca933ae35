// The paper's Figure 1; the waiter sleeps before the signal comes.
#include "../program.h"
int data, flag;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
void *producer(void *_) {
  step(1);
  data++; // NORACE
  pthread_mutex_lock(&lock);
  flag = 1; // NORACE
  pthread_cond_signal(&cv);
  pthread_mutex_unlock(&lock);
  return 0;
}
void *consumer(void *_) {
  pthread_mutex_lock(&lock);
  done();
  while (flag != 1) // NORACE
    pthread_cond_wait(&cv, &lock);
  pthread_mutex_unlock(&lock);
  use(data); // NORACE
  return 0;
}
int main(void) { both(producer, consumer); }
