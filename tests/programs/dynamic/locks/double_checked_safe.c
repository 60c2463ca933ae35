// Double-checked locking with an acquire load and a release store.
#include "../program.h"
#include <stdatomic.h>
int *_Atomic instance;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int *get(void) {
  int *found = atomic_load_explicit(&instance, memory_order_acquire); // NORACE
  if (found)
    return found;
  pthread_mutex_lock(&lock);
  found = atomic_load_explicit(&instance, memory_order_relaxed);
  if (!found) {
    found = malloc(sizeof *found);
    *found = 42; // NORACE
    atomic_store_explicit(&instance, found, memory_order_release);
  }
  pthread_mutex_unlock(&lock);
  return found;
}
void *first(void *_) {
  get();
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  use(*get()); // NORACE
  return 0;
}
int main(void) { both(first, second); }
