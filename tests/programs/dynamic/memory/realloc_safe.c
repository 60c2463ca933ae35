// realloc moves and grows private blocks of several threads.
#include "../program.h"
void *work(void *_) {
  char *block = NULL;
  for (int size = 8; size < 20000; size *= 2) {
    block = realloc(block, size);
    memset(block, 1, size); // NORACE
  }
  free(block);
  return 0;
}
int main(void) { both(work, work); }
