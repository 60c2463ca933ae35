// The result of trylock is ignored.
#include "../program.h"
int value;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *holder(void *_) {
  pthread_mutex_lock(&lock);
  done();
  step(2);
  value = 1; // RACE!
  pthread_mutex_unlock(&lock);
  return 0;
}
void *intruder(void *_) {
  step(1);
  pthread_mutex_trylock(&lock);
  value = 2; // RACE!
  done();
  return 0;
}
int main(void) { both(holder, intruder); }
