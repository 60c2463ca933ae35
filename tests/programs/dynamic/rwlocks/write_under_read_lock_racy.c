// Two threads hold the lock for reading and write.
#include "../program.h"
int value;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
void *first(void *_) {
  pthread_rwlock_rdlock(&lock);
  value++; // RACE!
  done();
  step(2);
  pthread_rwlock_unlock(&lock);
  return 0;
}
void *second(void *_) {
  step(1);
  pthread_rwlock_rdlock(&lock);
  value++; // RACE!
  pthread_rwlock_unlock(&lock);
  done();
  return 0;
}
int main(void) { both(first, second); }
