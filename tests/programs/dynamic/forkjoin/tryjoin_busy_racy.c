// A try-join that fails has joined nothing.
#include "../program.h"
int value;
void *work(void *_) {
  value = 1; // RACE!
  done();
  step(2);
  return 0;
}
int main(void) {
  pthread_t t = start(work, NULL);
  step(1);
  pthread_tryjoin_np(t, NULL);
  value = 2; // RACE!
  done();
  join(t);
}
