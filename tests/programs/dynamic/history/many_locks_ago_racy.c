// The first access lies many critical sections back.
#include "../program.h"
int value, counter;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *first(void *_) {
  value = 1; // RACE!
  for (int i = 0; i < 20000; i++) {
    pthread_mutex_lock(&lock);
    counter++; // NORACE
    pthread_mutex_unlock(&lock);
  }
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  value = 2; // RACE!
  return 0;
}
int main(void) { both(first, second); }
