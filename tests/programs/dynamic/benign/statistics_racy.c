// A statistics counter that nobody minds losing.
#include "../program.h"
long requests;
void *first(void *_) {
  requests++; // RACE!
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  requests++; // RACE!
  return 0;
}
int main(void) { both(first, second); }
