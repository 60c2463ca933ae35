// One reader takes the lock, another forgets it.
#include "../program.h"
int value;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
void *writer(void *_) {
  pthread_rwlock_wrlock(&lock);
  value = 1; // RACE!
  pthread_rwlock_unlock(&lock);
  done();
  return 0;
}
void *readers(void *_) {
  step(1);
  use(value); // RACE!
  pthread_rwlock_rdlock(&lock);
  use(value); // NORACE
  pthread_rwlock_unlock(&lock);
  return 0;
}
int main(void) { both(writer, readers); }
