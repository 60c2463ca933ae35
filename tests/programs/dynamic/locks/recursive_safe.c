// A recursive mutex protects until its last unlock.
#include "../program.h"
int value;
pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
void *work(void *_) {
  pthread_mutex_lock(&lock);
  pthread_mutex_lock(&lock);
  value++; // NORACE
  pthread_mutex_unlock(&lock);
  value++; // NORACE
  pthread_mutex_unlock(&lock);
  return 0;
}
int main(void) { both(work, work); }
