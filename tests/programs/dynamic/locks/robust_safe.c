// The owner of a robust mutex ends without unlocking; the next one comes after it.
#include "../program.h"
#include <errno.h>
pthread_mutex_t mutex;
int data;
void *dying(void *_) {
  pthread_mutex_lock(&mutex);
  data = 1; // NORACE
  done();
  return 0;
}
void *next(void *_) {
  step(1);
  if (pthread_mutex_lock(&mutex) == EOWNERDEAD)
    pthread_mutex_consistent(&mutex);
  data++; // NORACE
  pthread_mutex_unlock(&mutex);
  return 0;
}
int main(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &attributes);
  both(dying, next);
}
