// The threads hold different sets of locks that have one in common.
#include "../program.h"
int value;
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t common = PTHREAD_MUTEX_INITIALIZER;
void *first(void *_) {
  pthread_mutex_lock(&a);
  pthread_mutex_lock(&common);
  value++; // NORACE
  pthread_mutex_unlock(&common);
  pthread_mutex_unlock(&a);
  return 0;
}
void *second(void *_) {
  pthread_mutex_lock(&b);
  pthread_mutex_lock(&common);
  value++; // NORACE
  pthread_mutex_unlock(&common);
  pthread_mutex_unlock(&b);
  return 0;
}
int main(void) { both(first, second); }
