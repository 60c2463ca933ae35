// Two threads have the text for an error that nobody knows written to one buffer.
#include "../program.h"
char text[100];
void *first(void *_) {
  strerror_r(-1, text, sizeof text); // RACE!
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  strerror_r(-1, text, sizeof text); // RACE!
  return 0;
}
int main(void) { both(first, second); }
