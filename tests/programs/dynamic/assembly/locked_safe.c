// Increments with a lock prefix do not race with each other.
#include "../program.h"
int counter;
static inline void increment(int *place) {
  __asm__ volatile("lock; incl %0" : "+m"(*place) : : "memory", "cc");
}
void *worker(void *_) {
  for (int i = 0; i < 100; i++)
    increment(&counter); // NORACE
  return 0;
}
int main(void) { both(worker, worker); }
