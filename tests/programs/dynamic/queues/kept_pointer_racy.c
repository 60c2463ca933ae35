// The producer touches an item that it has already given away.
#include "../program.h"
struct item { int value; } item, *slot;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *producer(void *_) {
  pthread_mutex_lock(&lock);
  slot = &item; // NORACE
  pthread_mutex_unlock(&lock);
  item.value = 1; // RACE!
  done();
  return 0;
}
void *consumer(void *_) {
  step(1);
  pthread_mutex_lock(&lock);
  struct item *it = slot; // NORACE
  pthread_mutex_unlock(&lock);
  it->value++; // RACE!
  return 0;
}
int main(void) { both(producer, consumer); }
