// Fifty thousand critical sections lie between an access and another under the same lock.
#include "../program.h"
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int locked, counted;
void *first(void *_) {
  pthread_mutex_lock(&mutex);
  locked = 1; // NORACE
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < 50000; i++) {
    pthread_mutex_lock(&mutex);
    counted++; // NORACE
    pthread_mutex_unlock(&mutex);
  }
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  pthread_mutex_lock(&mutex);
  locked = 2; // NORACE
  pthread_mutex_unlock(&mutex);
  return 0;
}
int main(void) { both(first, second); }
