// A detached thread's stack passes to the next thread without any visible order.
#include "../program.h"
void *work(void *_) {
  volatile int local[64];
  for (int i = 0; i < 64; i++)
    local[i] = i; // NORACE
  done();
  return 0;
}
int main(void) {
  for (int i = 0; i < 20; i++) {
    pthread_detach(start(work, NULL));
    step(i + 1);
  }
}
