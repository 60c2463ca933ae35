// The address of a thread-local variable is given to another thread.
#include "../program.h"
_Thread_local int mine;
int *_Atomic leaked;
void *owner(void *_) {
  leaked = &mine;
  mine++; // RACE!
  done();
  step(2);
  return 0;
}
void *other(void *_) {
  step(1);
  ++*leaked; // RACE!
  done();
  return 0;
}
int main(void) { both(owner, other); }
