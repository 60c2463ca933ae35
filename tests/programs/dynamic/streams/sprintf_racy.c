// sprintf fills a buffer that another thread reads.
#include "../program.h"
char buffer[64];
void *writer(void *_) {
  sprintf(buffer, "%s-%d", "abc", 17); // RACE!
  done();
  return 0;
}
void *reader(void *_) {
  step(1);
  use(buffer[5]); // RACE!
  return 0;
}
int main(void) { both(writer, reader); }
