// pthread_once: the caller that comes late sees all that the routine did.
#include "../program.h"
int value;
pthread_once_t once = PTHREAD_ONCE_INIT;
void init(void) { value = 1; } // NORACE
void *first(void *_) {
  pthread_once(&once, init);
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  pthread_once(&once, init);
  use(value); // NORACE
  return 0;
}
int main(void) { both(first, second); }
