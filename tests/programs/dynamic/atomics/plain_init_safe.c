// Plain initialisation before the fork, atomic use after it, plain read after the join.
#include "../program.h"
long hits;
void *work(void *_) {
  __atomic_fetch_add(&hits, 1, __ATOMIC_RELAXED); // NORACE
  return 0;
}
int main(void) {
  hits = 5; // NORACE
  both(work, work);
  return hits != 7; // NORACE
}
