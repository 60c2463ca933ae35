// Initialised before the fork, read after the join.
#include "../program.h"
int value;
void *work(void *_) {
  value++; // NORACE
  return 0;
}
int main(void) {
  value = 1; // NORACE
  pthread_t t = start(work, NULL);
  join(t);
  use(value); // NORACE
}
