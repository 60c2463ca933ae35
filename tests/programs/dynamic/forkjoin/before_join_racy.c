// The parent looks before it joins.
#include "../program.h"
int value;
void *work(void *_) {
  value++; // RACE!
  done();
  return 0;
}
int main(void) {
  pthread_t t = start(work, NULL);
  step(1);
  use(value); // RACE!
  join(t);
}
