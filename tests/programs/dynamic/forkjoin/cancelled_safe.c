// A cancelled thread, joined.
#include "../program.h"
int value;
void *work(void *_) {
  value = 1; // NORACE
  done();
  for (;;)
    pause();
  return 0;
}
int main(void) {
  pthread_t t = start(work, NULL);
  step(1);
  pthread_cancel(t);
  join(t);
  use(value); // NORACE
}
