// A try that fails is no death of the owner.
#include <errno.h>
#include <pthread.h>
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int data;
void *one(void *unused) {
  pthread_mutex_lock(&mutex);
  data = 1; // RACE!
  pthread_mutex_unlock(&mutex);
  return 0;
}
void *two(void *unused) {
  int result = pthread_mutex_trylock(&mutex);
  if (result == EOWNERDEAD) pthread_mutex_consistent(&mutex);
  data++; // RACE!
  if (result == 0) pthread_mutex_unlock(&mutex);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
