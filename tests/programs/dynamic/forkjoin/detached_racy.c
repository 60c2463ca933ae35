// A detached thread is ordered with nobody.
#include "../program.h"
int value;
void *work(void *_) {
  value = 1; // RACE!
  done();
  return 0;
}
int main(void) {
  pthread_detach(start(work, NULL));
  step(1);
  value = 2; // RACE!
}
