// Written to a file, then read back through the same descriptor by another thread.
#include "../program.h"
int data, file;
void *writer(void *_) {
  data = 1; // NORACE
  if (pwrite(file, "x", 1, 0) != 1)
    abort();
  return 0;
}
void *reader(void *_) {
  char byte;
  while (pread(file, &byte, 1, 0) != 1)
    sched_yield();
  data++; // NORACE
  return 0;
}
int main(void) {
  char name[] = "/tmp/racewarden-XXXXXX";
  file = mkstemp(name);
  unlink(name);
  both(writer, reader);
}
