// A thousand threads in turn, each joined.
#include "../program.h"
int total;
void *work(void *_) {
  total++; // NORACE
  return 0;
}
int main(void) {
  for (int i = 0; i < 1000; i++)
    join(start(work, NULL));
}
