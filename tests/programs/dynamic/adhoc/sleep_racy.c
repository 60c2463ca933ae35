// Sleeping is not synchronisation.
#include "../program.h"
int data;
void *writer(void *_) {
  data = 1; // RACE!
  done();
  return 0;
}
void *reader(void *_) {
  usleep(1000);
  step(1);
  use(data); // RACE!
  return 0;
}
int main(void) { both(writer, reader); }
