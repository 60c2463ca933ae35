#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, o = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int full, slot;
void *first(void *argument) {
  for (int i = 0; i < 10; i++) {
    pthread_mutex_lock(&m);
    while (full != 0) pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    slot = i; // RACE!
    pthread_mutex_lock(&m);
    full = 1; // RACE!
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
  }
  return 0;
}
void *second(void *argument) {
  int sum = 0;
  for (int i = 0; i < 10; i++) {
    pthread_mutex_lock(&o);
    while (full != 1) pthread_cond_wait(&c, &o);
    pthread_mutex_unlock(&o);
    sum += slot; // RACE!
    pthread_mutex_lock(&o);
    full = 0; // RACE!
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&o);
  }
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, first, 0);
  pthread_create(&u, 0, second, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
