// The first thread is joined before the second is made.
#include "../program.h"
int value;
void *work(void *_) {
  value++; // NORACE
  return 0;
}
int main(void) {
  for (int i = 0; i < 3; i++)
    join(start(work, NULL));
}
