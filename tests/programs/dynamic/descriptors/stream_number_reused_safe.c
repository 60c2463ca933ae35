// A stream ends with its descriptor; the number comes back for another thread's file.
#include "../program.h"
#include <fcntl.h>
int first;
void *streamer(void *_) {
  int file = open("/dev/zero", O_RDONLY);
  first = dup(file);
  close(file);
  fclose(fdopen(first, "r")); // NORACE
  done();
  return 0;
}
void *opener(void *_) {
  step(1);
  FILE *stream = fopen("/dev/zero", "r");
  char byte;
  if (read(fileno(stream), &byte, 1) != 1) // NORACE
    abort();
  close(fileno(stream)); // NORACE
  return 0;
}
int main(void) { both(streamer, opener); }
