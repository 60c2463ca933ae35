// A managed lock that was taken three times is given up at once, as for a wait: what follows is not under it.
#include "../program.h"
__attribute__((weak)) void __tsan_java_mutex_lock(unsigned long lock);
__attribute__((weak)) void __tsan_java_mutex_unlock(unsigned long lock);
__attribute__((weak)) int __tsan_java_mutex_unlock_rec(unsigned long lock);
__attribute__((weak)) void __tsan_java_mutex_lock_rec(unsigned long lock, int times);
static long lock;
static int object;
void *waiter(void *_) {
  unsigned long of = (unsigned long)&lock;
  int times = 3;
  if (__tsan_java_mutex_lock) {
    for (int i = 0; i < times; i++)
      __tsan_java_mutex_lock(of);
    if (__tsan_java_mutex_unlock_rec(of) != times)
      abort();
  }
  object = 1; // RACE!
  done();
  step(2);
  if (__tsan_java_mutex_lock) {
    __tsan_java_mutex_lock_rec(of, times);
    for (int i = 0; i < times; i++)
      __tsan_java_mutex_unlock(of);
  }
  return 0;
}
int main(void) {
  unsigned long of = (unsigned long)&lock;
  pthread_t thread = start(waiter, 0);
  step(1);
  if (__tsan_java_mutex_lock)
    __tsan_java_mutex_lock(of);
  object = 2; // RACE!
  if (__tsan_java_mutex_unlock)
    __tsan_java_mutex_unlock(of);
  done();
  join(thread);
}
