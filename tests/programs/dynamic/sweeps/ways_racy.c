// A lock is given back on one of two ways only, so what was written before says nothing of what is written
// after they meet; and a number that only one way reads is not read on the other.
// FLAGS: -O2
#include "../program.h"
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int value, other;
void *writer(void *argument) {
  pthread_mutex_lock(&lock);
  value = 1; // NORACE
  if (argument == 0)
    pthread_mutex_unlock(&lock);
  else
    use(other);
  value = 2; // RACE!
  other = 3; // RACE!
  if (argument != 0)
    pthread_mutex_unlock(&lock);
  done();
  return 0;
}
void *reader(void *_) {
  step(1);
  pthread_mutex_lock(&lock);
  use(value); // RACE!
  use(other); // RACE!
  pthread_mutex_unlock(&lock);
  return 0;
}
int main(void) { both(writer, reader); }
