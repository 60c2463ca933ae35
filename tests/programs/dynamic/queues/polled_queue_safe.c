// A consumer that polls the queue under its mutex instead of waiting.
#include "../program.h"
int data;
int *slot;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *producer(void *_) {
  data = 1; // NORACE
  pthread_mutex_lock(&lock);
  slot = &data; // NORACE
  pthread_mutex_unlock(&lock);
  return 0;
}
void *consumer(void *_) {
  int *mine = NULL;
  while (!mine) {
    pthread_mutex_lock(&lock);
    mine = slot; // NORACE
    pthread_mutex_unlock(&lock);
    sched_yield();
  }
  ++*mine; // NORACE
  return 0;
}
int main(void) { both(producer, consumer); }
