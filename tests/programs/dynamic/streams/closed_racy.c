// One thread closes the stream that another still writes to.
#include "../program.h"
FILE *stream;
void *user(void *_) {
  fprintf(stream, "%d\n", 1); // RACE!
  done();
  return 0;
}
void *closer(void *_) {
  step(1);
  fclose(stream); // RACE!
  return 0;
}
int main(void) {
  stream = fopen("/dev/null", "w");
  both(user, closer);
}
