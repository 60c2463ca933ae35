#include <pthread.h>
int ready, value;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
void *producer(void *unused) {
  pthread_mutex_lock(&m);
  value = 42; // NORACE
  ready = 1; // NORACE
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t t;
  int seen;
  pthread_create(&t, 0, producer, 0);
  pthread_mutex_lock(&m);
  while (!ready) pthread_cond_wait(&c, &m); // NORACE
  seen = value; // NORACE
  pthread_mutex_unlock(&m);
  return seen;
}
