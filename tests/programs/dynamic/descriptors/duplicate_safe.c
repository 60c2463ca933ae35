// What goes into a duplicate comes out of the original's other end.
#include "../program.h"
int data, ends[2], copy;
void *sender(void *_) {
  data = 1; // NORACE
  if (write(copy, "x", 1) != 1)
    abort();
  return 0;
}
void *receiver(void *_) {
  char byte;
  if (read(ends[0], &byte, 1) == 1)
    data++; // NORACE
  return 0;
}
int main(void) {
  if (pipe(ends))
    return 1;
  copy = dup(ends[1]);
  both(sender, receiver);
}
