// The update is split: read under the lock, written back after it.
#include "../program.h"
int balance = 10;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *withdraw(void *_) {
  pthread_mutex_lock(&lock);
  int old = balance; // NORACE
  pthread_mutex_unlock(&lock);
  balance = old - 1; // RACE!
  done();
  return 0;
}
void *deposit(void *_) {
  step(1);
  pthread_mutex_lock(&lock);
  balance++; // RACE!
  pthread_mutex_unlock(&lock);
  return 0;
}
int main(void) { both(withdraw, deposit); }
