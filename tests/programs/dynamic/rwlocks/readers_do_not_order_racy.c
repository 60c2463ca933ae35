// Two read-locked sections follow each other: that orders nothing.
#include "../program.h"
int value, shared;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
void *first(void *_) {
  value = 1; // RACE!
  pthread_rwlock_rdlock(&lock);
  use(shared); // NORACE
  pthread_rwlock_unlock(&lock);
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  pthread_rwlock_rdlock(&lock);
  use(shared); // NORACE
  pthread_rwlock_unlock(&lock);
  value = 2; // RACE!
  return 0;
}
int main(void) { both(first, second); }
