// Ownership passes through a queue with a mutex and a condition variable.
#include "../program.h"
enum { N = 16 };
struct item { int value; } *slots[N];
int count, taken;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
void *producer(void *_) {
  for (int i = 0; i < N; i++) {
    struct item *it = malloc(sizeof *it);
    it->value = i; // NORACE
    pthread_mutex_lock(&lock);
    slots[count++] = it; // NORACE
    pthread_cond_signal(&cv);
    pthread_mutex_unlock(&lock);
  }
  return 0;
}
void *consumer(void *_) {
  for (int i = 0; i < N; i++) {
    pthread_mutex_lock(&lock);
    while (taken == count) // NORACE
      pthread_cond_wait(&cv, &lock);
    struct item *it = slots[taken++]; // NORACE
    pthread_mutex_unlock(&lock);
    it->value++; // NORACE
    free(it);
  }
  return 0;
}
int main(void) { both(producer, consumer); }
