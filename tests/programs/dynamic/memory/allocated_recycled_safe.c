// Blocks go from thread to thread through the allocator alone: whoever gets one has made it anew.
#include "../program.h"
#define ROUNDS 2000
void *work(void *seed) {
  char *kept[16] = {0};
  unsigned state = (unsigned)(long)seed;
  for (int i = 0; i < ROUNDS; i++) {
    state = state * 1103515245 + 12345;
    int at = state >> 16 & 15, size = 1 + (state >> 20 & 2047);
    kept[at] = realloc(kept[at], size); // NORACE
    kept[at][0] = 1;                    // NORACE
    kept[at][size - 1] = 2;             // NORACE
    if (state >> 28 & 1) {
      free(kept[at]); // NORACE
      kept[at] = 0;
    }
  }
  for (int i = 0; i < 16; i++)
    free(kept[i]);
  return 0;
}
int main(void) {
  for (long round = 0; round < 4; round++) {
    pthread_t a = start(work, (void *)(round * 2)), b = start(work, (void *)(round * 2 + 1));
    join(a);
    join(b);
  }
}
