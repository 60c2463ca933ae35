// Five locks one after the other, with nothing released between: each protects what comes after it.
#include "../program.h"
pthread_mutex_t locks[5] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                            PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                            PTHREAD_MUTEX_INITIALIZER};
int values[5];
void *nests(void *_) {
  for (int i = 0; i < 5; i++) {
    pthread_mutex_lock(&locks[i]);
    values[i]++; // NORACE
  }
  for (int i = 4; i >= 0; i--) pthread_mutex_unlock(&locks[i]);
  done();
  return 0;
}
void *takes_each(void *_) {
  step(1);
  for (int i = 0; i < 5; i++) {
    pthread_mutex_lock(&locks[i]);
    values[i]++; // NORACE
    pthread_mutex_unlock(&locks[i]);
  }
  return 0;
}
int main(void) { both(nests, takes_each); }
