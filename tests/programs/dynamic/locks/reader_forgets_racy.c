// The writer locks, the reader does not.
#include "../program.h"
int value;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *writer(void *_) {
  pthread_mutex_lock(&lock);
  value = 1; // RACE!
  pthread_mutex_unlock(&lock);
  done();
  return 0;
}
void *reader(void *_) {
  step(1);
  use(value); // RACE!
  return 0;
}
int main(void) { both(writer, reader); }
