// std::latch: the waiter sees what was written before the count-downs.
#include "../program.h"
#include <latch>
#include <thread>
int values[2];
std::latch latch(2);
int main() {
  auto work = [](int me) {
    values[me] = 1; // NORACE
    latch.count_down();
  };
  std::thread a(work, 0), b(work, 1);
  latch.wait();
  use(values[0] + values[1]); // NORACE
  a.join();
  b.join();
}
