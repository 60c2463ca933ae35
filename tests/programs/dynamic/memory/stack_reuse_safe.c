// Threads that follow each other get the same stack; so do their variables.
#include "../program.h"
void *work(void *_) {
  volatile int local[64];
  for (int i = 0; i < 64; i++)
    local[i] = i; // NORACE
  return 0;
}
int main(void) {
  for (int i = 0; i < 8; i++) {
    pthread_t a = start(work, NULL), b = start(work, NULL);
    join(b);
    join(a);
  }
}
