// A plain relaxed store by a third thread ends the release sequence.
#include "../program.h"
#include <stdatomic.h>
int data;
atomic_int flag;
void *sender(void *_) {
  data = 1; // RACE!
  atomic_store_explicit(&flag, 1, memory_order_release);
  done();
  return 0;
}
void *middle(void *_) {
  step(1);
  atomic_store_explicit(&flag, 2, memory_order_relaxed);
  done();
  return 0;
}
void *receiver(void *_) {
  step(2);
  if (atomic_load_explicit(&flag, memory_order_acquire) == 2)
    use(data); // RACE!
  return 0;
}
int main(void) {
  pthread_t extra = start(middle, NULL);
  both(sender, receiver);
  join(extra);
}
