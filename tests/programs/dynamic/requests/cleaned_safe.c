// A pool hands memory on and says that its past is over.
#include "../program.h"
#include <valgrind/helgrind.h>
char pool[64];
void *first(void *_) {
  pool[3] = 1; // NORACE
  VALGRIND_HG_CLEAN_MEMORY(pool, sizeof pool);
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  pool[3] = 2; // NORACE
  return 0;
}
int main(void) { both(first, second); }
