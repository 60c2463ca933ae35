// A byte through a pipe hands the data over.
#include "program.h"
static int data, ends[2];
static void *first(void *unused) {
  data = 1; // NORACE
  if (write(ends[1], "x", 1) != 1)
    abort();
  return unused;
}
static void *second(void *unused) {
  char byte;
  late();
  if (read(ends[0], &byte, 1) != 1)
    abort();
  data = 2; // NORACE
  return unused;
}
int main(void) {
  if (pipe(ends) != 0)
    return 1;
  both(first, second);
  return 0;
}
