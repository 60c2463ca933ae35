// A block is filled in and published by a release store that the reader acquires.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct block {
  int value;
};
_Atomic(struct block *) published;
void *reader(void *_) {
  struct block *found = atomic_load_explicit(&published, memory_order_acquire);
  if (found)
    found->value++; // NORACE
  return 0;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, reader, 0);
  struct block *made = malloc(sizeof *made);
  made->value = 1; // NORACE
  atomic_store_explicit(&published, made, memory_order_release);
  pthread_join(thread, 0);
}
