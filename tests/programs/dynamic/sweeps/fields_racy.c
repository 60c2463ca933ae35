// Neighbouring fields are written one after the other, and one of them is read elsewhere: the
// report names its line alone.
// FLAGS: -O2
#include "../program.h"
struct {
  int first;
  short second, third;
  long fourth;
} record;
void *writer(void *argument) {
  int value = argument != 0;
  record.first = value;           // NORACE
  record.second = (short)value;   // NORACE
  record.third = 3;               // RACE!
  record.fourth = value;          // NORACE
  done();
  return 0;
}
void *reader(void *_) {
  step(1);
  use(record.third); // RACE!
  return 0;
}
int main(void) { both(writer, reader); }
