// A write after the count-down is not covered.
#include "../program.h"
#include <latch>
#include <thread>
int value;
std::latch latch(1);
int main() {
  std::thread worker([] {
    latch.count_down();
    value = 1; // RACE!
    done();
  });
  latch.wait();
  step(1);
  value = 2; // RACE!
  worker.join();
}
