// The text for a known error stands elsewhere: nothing is written to the buffer.
#include "../program.h"
#include <errno.h>
char text[100];
void *ask(void *_) {
  use(*strerror_r(ERANGE, text, sizeof text)); // NORACE
  return 0;
}
int main(void) { both(ask, ask); }
