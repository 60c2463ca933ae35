// A hand-made hand-over that is annotated as such.
#include "../program.h"
void __tsan_acquire(void *) __attribute__((weak));
void __tsan_release(void *) __attribute__((weak));
int data, channel;
void *sender(void *_) {
  data = 1; // NORACE
  if (__tsan_release)
    __tsan_release(&channel);
  done();
  return 0;
}
void *receiver(void *_) {
  step(1);
  if (__tsan_acquire)
    __tsan_acquire(&channel);
  use(data); // NORACE
  return 0;
}
int main(void) { both(sender, receiver); }
