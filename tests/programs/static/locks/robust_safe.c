// Who gets the lock of a thread that died holds it.
#include <errno.h>
#include <pthread.h>
pthread_mutex_t mutex;
int data;
void *one(void *unused) {
  pthread_mutex_lock(&mutex);
  data = 1; // NORACE
  return 0;
}
void *two(void *unused) {
  if (pthread_mutex_lock(&mutex) == EOWNERDEAD) pthread_mutex_consistent(&mutex);
  data++; // NORACE
  pthread_mutex_unlock(&mutex);
  return 0;
}
int main(void) {
  pthread_mutexattr_t attributes;
  pthread_t a, b;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &attributes);
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
