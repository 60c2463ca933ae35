// A block is reallocated, perhaps where it is, and handed on under a lock.
#include "../program.h"
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
char *block;
void *grower(void *_) {
  pthread_mutex_lock(&lock);
  block = realloc(block, 24); // NORACE
  pthread_mutex_unlock(&lock);
  return 0;
}
void *writer(void *_) {
  pthread_mutex_lock(&lock);
  block[3] = 1; // NORACE
  pthread_mutex_unlock(&lock);
  return 0;
}
int main(void) {
  block = malloc(16);
  both(grower, writer);
  free(block);
}
