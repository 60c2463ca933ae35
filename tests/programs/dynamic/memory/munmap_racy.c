// One thread unmaps what another just used.
#include "../program.h"
#include <sys/mman.h>
char *block;
void *user(void *_) {
  block[100] = 1; // RACE!
  done();
  return 0;
}
void *owner(void *_) {
  step(1);
  munmap(block, 4096); // RACE!
  return 0;
}
int main(void) {
  block = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  both(user, owner);
}
