// Each thread has its own.
#include "../program.h"
_Thread_local int mine;
void *work(void *_) {
  for (int i = 0; i < 10; i++)
    mine++; // NORACE
  return 0;
}
int main(void) {
  both(work, work);
  mine++; // NORACE
  both(work, work);
}
