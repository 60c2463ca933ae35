// Two threads count under one mutex.
#include "../program.h"
int counter;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *work(void *_) {
  for (int i = 0; i < 100; i++) {
    pthread_mutex_lock(&lock);
    counter++; // NORACE
    pthread_mutex_unlock(&lock);
  }
  return 0;
}
int main(void) { both(work, work); }
