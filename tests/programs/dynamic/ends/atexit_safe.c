// An atexit handler runs after what main did, in main's thread.
#include "../program.h"
int value;
void *work(void *_) {
  value = 1; // NORACE
  return 0;
}
void last(void) { use(value); } // NORACE
int main(void) {
  atexit(last);
  join(start(work, NULL));
}
