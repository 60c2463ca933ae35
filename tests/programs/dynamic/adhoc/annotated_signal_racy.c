// A signal that is annotated as a hand-made mutex's orders nothing: who is woken takes the mutex again.
#include "../program.h"
void __tsan_mutex_pre_lock(void *, unsigned) __attribute__((weak));
void __tsan_mutex_post_lock(void *, unsigned, int) __attribute__((weak));
int __tsan_mutex_pre_unlock(void *, unsigned) __attribute__((weak));
void __tsan_mutex_post_unlock(void *, unsigned) __attribute__((weak));
void __tsan_mutex_pre_signal(void *, unsigned) __attribute__((weak));
void __tsan_mutex_post_signal(void *, unsigned) __attribute__((weak));
int mutex, data;
static void section(void) {
  if (!__tsan_mutex_pre_lock)
    return;
  __tsan_mutex_pre_lock(&mutex, 0);
  __tsan_mutex_post_lock(&mutex, 0, 1);
  __tsan_mutex_pre_unlock(&mutex, 0);
  __tsan_mutex_post_unlock(&mutex, 0);
}
void *signaller(void *_) {
  section();
  data = 1; // RACE!
  if (__tsan_mutex_pre_signal) {
    __tsan_mutex_pre_signal(&mutex, 0);
    __tsan_mutex_post_signal(&mutex, 0);
  }
  done();
  return 0;
}
void *waiter(void *_) {
  step(1);
  section();
  use(data); // RACE!
  return 0;
}
int main(void) { both(signaller, waiter); }
