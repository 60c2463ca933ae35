// A program that translates code itself says when that code is entered and left; what it does there is watched.
#include "../program.h"
__attribute__((weak)) void __tsan_func_entry(void *caller);
__attribute__((weak)) void __tsan_func_exit(void);
int data;
static void change(int value) {
  if (__tsan_func_entry)
    __tsan_func_entry((void *)0x1000000000004d2);
  data = value; // RACE!
  if (__tsan_func_exit)
    __tsan_func_exit();
}
void *first(void *_) {
  change(1);
  done();
  return 0;
}
void *second(void *_) {
  step(1);
  change(2);
  return 0;
}
int main(void) { both(first, second); }
