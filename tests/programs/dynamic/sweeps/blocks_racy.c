// A block is filled row by row while another thread reads its last number: loops within loops are looked at
// as a whole, and still the last place of all is part of it.
// FLAGS: -O2
#include "../program.h"
double block[8][8];
void *writer(void *argument) {
  double value = argument == 0;
  for (int row = 0; row < 8; row++)
    for (int column = 0; column < 8; column++)
      block[row][column] = value * row + column; // RACE!
  done();
  return 0;
}
void *reader(void *_) {
  step(1);
  use((long)block[7][7]); // RACE!
  return 0;
}
int main(void) { both(writer, reader); }
