// Nothing protects the value; in this schedule an unrelated critical section happens to order the
// two writes, and happens-before alone sees nothing.
#include "../program.h"
int value, unrelated;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *first(void *_) {
  value = 1; // RACE!
  pthread_mutex_lock(&lock);
  unrelated++; // NORACE
  pthread_mutex_unlock(&lock);
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  pthread_mutex_lock(&lock);
  unrelated++; // NORACE
  pthread_mutex_unlock(&lock);
  value = 2; // RACE!
  return 0;
}
int main(void) { both(first, second); }
