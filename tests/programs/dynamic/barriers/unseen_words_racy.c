// Barriers of the detectors' own interface that nobody is to see take one word each, not two.
#include "../program.h"
#pragma weak __tsan_testonly_barrier_init
#pragma weak __tsan_testonly_barrier_wait
void __tsan_testonly_barrier_init(unsigned *barrier, unsigned count);
void __tsan_testonly_barrier_wait(unsigned *barrier);
struct rounds {
  unsigned first, second;
  int data;
} rounds;
static void meet(unsigned *barrier, int number) {
  if (__tsan_testonly_barrier_wait)
    __tsan_testonly_barrier_wait(barrier);
  else {
    done();
    step(number);
  }
}
static void *writer(void *arg) {
  rounds.data = 1; // RACE!
  meet(&rounds.first, 2);
  meet(&rounds.second, 4);
  return arg;
}
static void *reader(void *arg) {
  meet(&rounds.first, 2);
  use(rounds.data); // RACE!
  meet(&rounds.second, 4);
  return arg;
}
int main(void) {
  if (__tsan_testonly_barrier_init) {
    __tsan_testonly_barrier_init(&rounds.first, 2);
    __tsan_testonly_barrier_init(&rounds.second, 2);
  }
  both(writer, reader);
}
