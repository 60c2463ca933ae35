// Ranges that no program can have mapped are refused by the kernel and cost nothing.
#include "../program.h"
#include <sys/mman.h>
int main(void) {
  char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  page[0] = 1; // NORACE
  munmap(0, (size_t)-1);
  munmap(page, (size_t)1 << 60);
  munmap(page, (size_t)-4096);
  page[0]++; // NORACE
  return munmap(page, 4096);
}
