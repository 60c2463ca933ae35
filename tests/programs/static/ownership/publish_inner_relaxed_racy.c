// What is published without order leads to what was filled in before.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct inner {
  int value;
};
struct outer {
  struct inner *inner;
};
_Atomic(struct outer *) published;
static struct inner *make_inner(void) {
  struct inner *inner = malloc(sizeof *inner);
  inner->value = 1; // RACE!
  return inner;
}
void *reader(void *_) {
  struct outer *none = 0, *found = atomic_exchange_explicit(&published, none, memory_order_release);
  if (found)
    found->inner->value++; // RACE!
  return 0;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, reader, 0);
  struct outer *outer = malloc(sizeof *outer);
  outer->inner = make_inner(); // RACE!
  struct outer *none = 0;
  atomic_compare_exchange_strong(&published, &none, outer);
  pthread_join(thread, 0);
}
