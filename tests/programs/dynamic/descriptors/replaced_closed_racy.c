// The number is closed by another thread after something else was put behind it.
#include "../program.h"
#include <fcntl.h>
int file;
void *closer(void *_) {
  step(1);
  close(file); // RACE!
  return 0;
}
void *replacer(void *_) {
  int other = open("/dev/zero", O_RDONLY);
  dup2(other, file); // RACE!
  done();
  close(other);
  return 0;
}
int main(void) {
  file = open("/dev/zero", O_RDONLY);
  both(closer, replacer);
}
