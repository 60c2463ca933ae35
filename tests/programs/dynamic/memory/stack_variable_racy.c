// A local of main is shared by address.
#include "../program.h"
void *work(void *argument) {
  ++*(int *)argument; // RACE!
  done();
  return 0;
}
int main(void) {
  int local = 0;
  pthread_t t = start(work, &local);
  step(1);
  local++; // RACE!
  join(t);
  use(local);
}
