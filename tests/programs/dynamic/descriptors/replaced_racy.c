// dup2 closes what its second argument named.
#include "../program.h"
#include <fcntl.h>
int file;
void *user(void *_) {
  char byte;
  if (read(file, &byte, 1) != 1) // RACE!
    abort();
  done();
  return 0;
}
void *replacer(void *_) {
  step(1);
  int other = open("/dev/zero", O_RDONLY);
  dup2(other, file); // RACE!
  close(other);
  return 0;
}
int main(void) {
  file = open("/dev/zero", O_RDONLY);
  both(user, replacer);
}
