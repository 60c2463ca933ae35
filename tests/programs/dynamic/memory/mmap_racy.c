// Shared mapped memory is memory.
#include "../program.h"
#include <sys/mman.h>
int *page;
void *first(void *_) {
  page[5] = 1; // RACE!
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  page[5] = 2; // RACE!
  return 0;
}
int main(void) {
  page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  both(first, second);
}
