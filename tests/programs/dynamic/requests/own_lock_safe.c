// A lock of the program's own making, told by annotations.
#include "../program.h"
#include <valgrind/helgrind.h>
int data, lock;
void *worker(void *_) {
  for (int i = 0; i < 50; i++) {
    int taken = 1;
    do
      __asm__ volatile("xchgl %0, %1" : "+r"(taken), "+m"(lock) : : "memory");
    while (taken && !syscall(SYS_sched_yield) && (taken = 1));
    ANNOTATE_RWLOCK_ACQUIRED(&lock, 1);
    data++; // NORACE
    ANNOTATE_RWLOCK_RELEASED(&lock, 1);
    taken = 0;
    __asm__ volatile("xchgl %0, %1" : "+r"(taken), "+m"(lock) : : "memory");
  }
  return 0;
}
int main(void) {
  ANNOTATE_RWLOCK_CREATE(&lock);
  both(worker, worker);
}
