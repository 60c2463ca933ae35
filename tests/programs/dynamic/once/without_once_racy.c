// The second thread does not ask the once object.
#include "../program.h"
int value;
pthread_once_t once = PTHREAD_ONCE_INIT;
void init(void) { value = 1; } // RACE!
void *first(void *_) {
  pthread_once(&once, init);
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  use(value); // RACE!
  return 0;
}
int main(void) { both(first, second); }
