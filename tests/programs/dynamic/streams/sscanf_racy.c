// sscanf writes the variables it is given.
#include "../program.h"
int number;
char word[16];
void *scanner(void *_) {
  if (sscanf("42 words", "%d %15s", &number, word) != 2) // RACE!
    abort();
  done();
  return 0;
}
void *reader(void *_) {
  step(1);
  use(number);  // RACE!
  use(word[2]); // RACE!
  return 0;
}
int main(void) { both(scanner, reader); }
