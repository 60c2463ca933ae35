// read() fills a buffer that another thread uses.
#include "../program.h"
char buffer[8];
int ends[2];
void *filler(void *_) {
  if (read(ends[0], buffer, 4) != 4) // RACE!
    abort();
  done();
  return 0;
}
void *user(void *_) {
  step(1);
  use(buffer[3]); // RACE!
  return 0;
}
int main(void) {
  if (pipe(ends) || write(ends[1], "abcd", 4) != 4)
    return 1;
  both(filler, user);
}
