// Every thread gets the address of the same loop variable.
#include "../program.h"
void *work(void *argument) {
  use(*(int *)argument); // RACE!
  done();
  return 0;
}
int main(void) {
  pthread_t threads[2];
  int i = 0;
  threads[0] = start(work, &i);
  step(1);
  i = 1; // RACE!
  threads[1] = start(work, &i);
  join(threads[0]);
  join(threads[1]);
}
