// Unmapped memory comes back as other memory at the same place, in another thread.
#include "../program.h"
#include <sys/mman.h>
#define PLACE ((void *)0x10000000000)
void *map(void) {
  return mmap(PLACE, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}
void *first(void *_) {
  int *page = map();
  page[0] = 1; // NORACE
  munmap(page, 4096);
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  int *page = map();
  page[0] = 2; // NORACE
  return 0;
}
int main(void) { both(first, second); }
