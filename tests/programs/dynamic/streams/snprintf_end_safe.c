// snprintf writes no further than its result is long.
#include "../program.h"
char buffer[64];
void *writer(void *_) {
  snprintf(buffer, sizeof buffer, "%ld", 123L); // NORACE
  done();
  return 0;
}
void *reader(void *_) {
  step(1);
  buffer[8] = 1; // NORACE
  return 0;
}
int main(void) { both(writer, reader); }
