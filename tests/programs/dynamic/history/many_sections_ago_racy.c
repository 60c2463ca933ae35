// Fifty thousand critical sections lie between an access and what races with it.
#include "../program.h"
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
int unlocked, locked, counted;
void *first(void *_) {
  unlocked = 1; // RACE!
  pthread_mutex_lock(&mutex);
  locked = 1; // RACE!
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
  unlocked = 2; // RACE!
  pthread_mutex_lock(&other);
  locked = 2; // RACE!
  pthread_mutex_unlock(&other);
  return 0;
}
int main(void) { both(first, second); }
