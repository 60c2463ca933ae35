// One thread works in its array all the time; another touches some of it meanwhile.
#include "../program.h"
long numbers[4096];
void *works(void *_) {
  for (int round = 0; round < 200; round++)
    for (int i = 0; i < 4096; i++) numbers[i] += round; // RACE!
  done();
  return 0;
}
void *looks(void *_) {
  for (int i = 0; i < 4096; i += 64) numbers[i] = 0; // RACE!
  step(1);
  return 0;
}
int main(void) { both(works, looks); }
