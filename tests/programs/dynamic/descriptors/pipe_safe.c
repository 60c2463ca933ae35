// A byte through a pipe hands over data.
#include "../program.h"
int data, ends[2];
void *sender(void *_) {
  data = 1; // NORACE
  if (write(ends[1], "x", 1) != 1)
    abort();
  return 0;
}
void *receiver(void *_) {
  char byte;
  if (read(ends[0], &byte, 1) != 1)
    abort();
  data++; // NORACE
  return 0;
}
int main(void) {
  if (pipe(ends))
    return 1;
  both(sender, receiver);
}
