// A managed heap runs a finalizer when nobody refers to an object any more, and says so; and a word that was released
// through its interface is stored to after that.
#include "../program.h"
__attribute__((weak)) void __tsan_java_finalize(void);
__attribute__((weak)) void __tsan_java_acquire(unsigned long address);
__attribute__((weak)) void __tsan_java_release(unsigned long address);
static int object, other;
static long word;
void *finalizer(void *_) {
  step(1);
  if (__tsan_java_finalize) {
    __tsan_java_finalize();
    object = 0; // NORACE
  }
  while (!__atomic_load_n(&word, __ATOMIC_RELAXED))
    sched_yield();
  if (__tsan_java_acquire) {
    __tsan_java_acquire((unsigned long)&word);
    other = 0; // NORACE
  }
  return 0;
}
int main(void) {
  pthread_t thread = start(finalizer, 0);
  object = 1; // NORACE
  done();
  other = 1; // NORACE
  if (__tsan_java_release)
    __tsan_java_release((unsigned long)&word);
  __atomic_store_n(&word, 1, __ATOMIC_RELAXED);
  join(thread);
}
