// The data is written after the byte was sent.
#include "../program.h"
int data, ends[2];
void *sender(void *_) {
  if (write(ends[1], "x", 1) != 1)
    abort();
  data = 1; // RACE!
  done();
  return 0;
}
void *receiver(void *_) {
  char byte;
  if (read(ends[0], &byte, 1) != 1)
    abort();
  step(1);
  data++; // RACE!
  return 0;
}
int main(void) {
  if (pipe(ends))
    return 1;
  both(sender, receiver);
}
