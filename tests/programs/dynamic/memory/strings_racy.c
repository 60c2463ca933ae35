// strcpy into a string whose length another thread takes.
#include "../program.h"
char text[32] = "a";
char *volatile source = "hello";
void *first(void *_) {
  strcpy(text, source); // RACE!
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  use(strlen(text)); // RACE!
  return 0;
}
int main(void) { both(first, second); }
