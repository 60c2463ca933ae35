// All but the last column of a block is filled while another thread reads that one, and a number that each row
// needs again is only read.
// FLAGS: -O2
#include "../program.h"
double block[8][8], scale = 2;
void *writer(void *argument) {
  for (int row = 0; row < 8; row++)
    for (int column = 0; column < 7; column++)
      block[row][column] = scale * row + column; // NORACE alarm(static): columns are not told apart
  done();
  return 0;
}
void *reader(void *_) {
  double sum = scale;
  step(1);
  for (int row = 0; row < 8; row++)
    sum += block[row][7]; // NORACE alarm(static): columns are not told apart
  use((long)sum);
  return 0;
}
int main(void) { both(writer, reader); }
