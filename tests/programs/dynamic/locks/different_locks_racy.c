// Each thread takes a lock, but not the same one.
#include "../program.h"
int value;
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
void *first(void *_) {
  pthread_mutex_lock(&a);
  value = 1; // RACE!
  pthread_mutex_unlock(&a);
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  pthread_mutex_lock(&b);
  value = 2; // RACE!
  pthread_mutex_unlock(&b);
  return 0;
}
int main(void) { both(first, second); }
