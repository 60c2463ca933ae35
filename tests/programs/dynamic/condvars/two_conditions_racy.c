// The paper's Figure 5(c): the waiter for the second condition uses the data of the first. The lock
// orders them in this run, so only a precise hybrid can suspect it.
#include "../program.h"
int x, flag1, flag2;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
void *signal1(void *_) {
  x = 1; // RACE!
  pthread_mutex_lock(&lock);
  flag1 = 1; // NORACE
  pthread_cond_broadcast(&cv);
  pthread_mutex_unlock(&lock);
  done();
  return 0;
}
void *signal2(void *_) {
  pthread_mutex_lock(&lock);
  flag2 = 1; // NORACE
  pthread_cond_broadcast(&cv);
  pthread_mutex_unlock(&lock);
  done();
  return 0;
}
void *wait2(void *_) {
  step(2);
  pthread_mutex_lock(&lock);
  while (!flag2) // NORACE
    pthread_cond_wait(&cv, &lock);
  pthread_mutex_unlock(&lock);
  x = 2; // RACE!
  return 0;
}
int main(void) {
  pthread_t waiter = start(wait2, NULL);
  both(signal1, signal2);
  join(waiter);
}
