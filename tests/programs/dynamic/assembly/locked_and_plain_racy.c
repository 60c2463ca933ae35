// One thread's lock prefix does not protect from the other's plain increment.
#include "../program.h"
int counter;
void *locked(void *_) {
  __asm__ volatile("lock; incl (%0)" : : "r"(&counter) : "memory", "cc"); // RACE!
  done();
  return 0;
}
void *plain(void *_) {
  step(1);
  counter++; // RACE!
  return 0;
}
int main(void) { both(locked, plain); }
