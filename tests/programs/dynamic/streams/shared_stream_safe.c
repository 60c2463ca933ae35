// A stream has a lock of its own: two threads may print to it.
#include "../program.h"
void *printer(void *_) {
  for (int i = 0; i < 20; i++)
    fprintf(stderr, "line %d\n", i); // NORACE
  return 0;
}
int main(void) { both(printer, printer); }
