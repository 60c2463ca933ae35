// localtime keeps its result in one place for all threads.
#include "../program.h"
#include <time.h>
void *first(void *_) {
  time_t now = 0;
  use(localtime(&now)->tm_hour); // RACE!
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  time_t now = 100;
  localtime(&now); // RACE!
  return 0;
}
int main(void) { both(first, second); }
