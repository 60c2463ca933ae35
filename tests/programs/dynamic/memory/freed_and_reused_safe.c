// A block that one thread frees may come back in another: the new block has no past.
#include "../program.h"
void *work(void *_) {
  for (int i = 0; i < 200; i++) {
    int *block = malloc(32);
    block[0] = i; // NORACE
    block[7] = i; // NORACE
    free(block);
  }
  return 0;
}
int main(void) {
  pthread_t extra = start(work, NULL);
  both(work, work);
  join(extra);
}
