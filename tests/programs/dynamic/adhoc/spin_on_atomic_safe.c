// The same with an atomic flag, in both directions.
#include "../program.h"
#include <stdatomic.h>
atomic_int flag;
int data;
void *setter(void *_) {
  data = 1; // NORACE
  flag = 1;
  while (flag != 2)
    sched_yield();
  data++; // NORACE
  return 0;
}
void *waiter(void *_) {
  while (flag != 1)
    sched_yield();
  data++; // NORACE
  flag = 2;
  return 0;
}
int main(void) { both(setter, waiter); }
