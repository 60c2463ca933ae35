// New pages are handed on without an order.
#include "../program.h"
#include <sys/mman.h>
#define ACCESS PROT_READ | PROT_WRITE
#define FLAGS MAP_PRIVATE | MAP_ANONYMOUS
char *slot;
void *maker(void *_) {
  char *pages = mmap(NULL, 1 << 16, ACCESS, FLAGS, -1, 0); // RACE!
  __atomic_store_n(&slot, pages, __ATOMIC_RELAXED);
  done();
  return 0;
}
void *user(void *_) {
  step(1);
  char *found = __atomic_load_n(&slot, __ATOMIC_RELAXED);
  found[100] = 1; // RACE!
  return 0;
}
int main(void) { both(maker, user); }
