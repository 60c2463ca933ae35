// A block is filled in and found by a relaxed load: the reader may find it empty still.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct block {
  int value;
};
_Atomic(struct block *) published;
void *reader(void *_) {
  struct block *found = atomic_load_explicit(&published, memory_order_relaxed);
  if (found)
    found->value++; // RACE!
  return 0;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, reader, 0);
  struct block *made = malloc(sizeof *made);
  made->value = 1; // RACE!
  atomic_store_explicit(&published, made, memory_order_release);
  pthread_join(thread, 0);
}
