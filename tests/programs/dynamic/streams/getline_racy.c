// getline fills a buffer that another thread looks into.
#include "../program.h"
char *line;
size_t room = 64;
FILE *input;
void *reader(void *_) {
  if (getline(&line, &room, input) < 3) // RACE!
    abort();
  done();
  return 0;
}
void *user(void *_) {
  step(1);
  use(line[1]); // RACE!
  return 0;
}
int main(void) {
  line = malloc(room);
  input = fmemopen("some words\n", 11, "r");
  both(reader, user);
}
