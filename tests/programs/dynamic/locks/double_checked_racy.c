// Double-checked locking with a plain pointer.
#include "../program.h"
int *instance;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void get(void) {
  if (!instance) { // RACE!
    pthread_mutex_lock(&lock);
    if (!instance) { // NORACE
      int *fresh = malloc(sizeof *fresh);
      *fresh = 42;
      instance = fresh; // RACE!
    }
    pthread_mutex_unlock(&lock);
  }
}
void *first(void *_) {
  get();
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  get();
  return 0;
}
int main(void) { both(first, second); }
