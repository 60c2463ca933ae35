// The access comes after the last unlock of a recursive mutex.
#include "../program.h"
int value;
pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
void *first(void *_) {
  pthread_mutex_lock(&lock);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  pthread_mutex_unlock(&lock);
  value++; // RACE!
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  pthread_mutex_lock(&lock);
  value++; // RACE!
  pthread_mutex_unlock(&lock);
  return 0;
}
int main(void) { both(first, second); }
