// A robust mutex that cannot be recovered is neither got nor busy.
#include <errno.h>
#include <pthread.h>
pthread_mutex_t mutex;
int data;
void *one(void *unused) {
  int result = pthread_mutex_trylock(&mutex);
  if (result == EBUSY) return 0;
  if (result == ENOTRECOVERABLE) data = 1; // RACE!
  return 0;
}
int main(void) {
  pthread_mutexattr_t attributes;
  pthread_t a, b;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &attributes);
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, one, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
