// What the registering thread wrote is seen by the atexit handler.
#include "../program.h"
int value;
void last(void) { use(value); } // NORACE
void *work(void *_) {
  value = 1; // NORACE
  atexit(last);
  done();
  return 0;
}
int main(void) {
  pthread_detach(start(work, NULL));
  step(1);
  exit(0);
}
