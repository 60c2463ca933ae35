// The data is written after the byte went through the pipe.
#include "program.h"
static int data, ends[2];
static void *first(void *unused) {
  if (write(ends[1], "x", 1) != 1)
    abort();
  data = 1; // RACE!
  return unused;
}
static void *second(void *unused) {
  char byte;
  late();
  if (read(ends[0], &byte, 1) != 1)
    abort();
  data = 2; // RACE!
  return unused;
}
int main(void) {
  if (pipe(ends) != 0)
    return 1;
  both(first, second);
  return 0;
}
