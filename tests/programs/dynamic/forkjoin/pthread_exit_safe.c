// A thread that leaves by pthread_exit from a nested call.
#include "../program.h"
int value;
void deep(void) {
  value = 1; // NORACE
  pthread_exit(&value);
}
void *work(void *_) {
  deep();
  return 0;
}
int main(void) {
  join(start(work, NULL));
  use(value); // NORACE
}
