// Wait and signal behind wrapper functions.
#include "../program.h"
int data, flag;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static void event_set(int *what) {
  pthread_mutex_lock(&lock);
  *what = 1; // NORACE
  pthread_cond_broadcast(&cv);
  pthread_mutex_unlock(&lock);
}
static void event_wait(int *what) {
  pthread_mutex_lock(&lock);
  while (!*what) // NORACE
    pthread_cond_wait(&cv, &lock);
  pthread_mutex_unlock(&lock);
}
void *producer(void *_) {
  data = 1; // NORACE
  event_set(&flag);
  return 0;
}
void *consumer(void *_) {
  event_wait(&flag);
  data++; // NORACE
  return 0;
}
int main(void) { both(producer, consumer); }
