// Two threads count without a lock.
#include "../program.h"
int counter;
void *first(void *_) {
  counter++; // RACE!
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  counter++; // RACE!
  return 0;
}
int main(void) { both(first, second); }
