// The paper's Figure 4: one condition variable for two conditions.
#include "../program.h"
int x, y, flag1, flag2;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
void *signal1(void *_) {
  step(2);
  x = 1; // NORACE
  pthread_mutex_lock(&lock);
  flag1 = 1; // NORACE
  pthread_cond_broadcast(&cv);
  pthread_mutex_unlock(&lock);
  done();
  return 0;
}
void *signal2(void *_) {
  step(3);
  y = 1; // NORACE
  pthread_mutex_lock(&lock);
  flag2 = 1; // NORACE
  pthread_cond_broadcast(&cv);
  pthread_mutex_unlock(&lock);
  return 0;
}
void *wait1(void *_) {
  pthread_mutex_lock(&lock);
  done();
  while (!flag1) // NORACE
    pthread_cond_wait(&cv, &lock);
  pthread_mutex_unlock(&lock);
  use(x); // NORACE
  return 0;
}
void *wait2(void *_) {
  pthread_mutex_lock(&lock);
  done();
  while (!flag2) // NORACE
    pthread_cond_wait(&cv, &lock);
  pthread_mutex_unlock(&lock);
  use(y); // NORACE
  return 0;
}
int main(void) {
  pthread_t a = start(wait1, NULL), b = start(wait2, NULL);
  both(signal1, signal2);
  join(a);
  join(b);
}
