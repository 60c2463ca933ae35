// The first access lies some 300,000 events back in its thread.
#include "../program.h"
int value;
volatile int busy[1024];
void *first(void *_) {
  value = 1; // RACE!
  for (int i = 0; i < 300000; i++)
    busy[i % 1024] = i;
  done();
  step(2);
  return 0;
}
void *second(void *_) {
  step(1);
  value = 2; // RACE!
  done();
  return 0;
}
int main(void) { both(first, second); }
