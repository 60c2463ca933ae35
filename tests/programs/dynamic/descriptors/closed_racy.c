// One thread closes the descriptor that another still writes to.
#include "../program.h"
int ends[2];
void *user(void *_) {
  if (write(ends[1], "a", 1) != 1) // RACE!
    abort();
  done();
  return 0;
}
void *closer(void *_) {
  step(1);
  close(ends[1]); // RACE!
  return 0;
}
int main(void) {
  if (pipe(ends))
    return 1;
  both(user, closer);
}
