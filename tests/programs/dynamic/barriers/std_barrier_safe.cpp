// std::barrier, cyclic, with a completion function.
#include "../program.h"
#include <barrier>
#include <thread>
int cells[2], sum;
int main() {
  auto complete = []() noexcept { sum += cells[0] + cells[1]; }; // NORACE
  std::barrier barrier(2, complete);
  auto work = [&](int me) {
    for (int i = 0; i < 5; i++) {
      cells[me] = i; // NORACE
      barrier.arrive_and_wait();
    }
  };
  std::thread a(work, 0), b(work, 1);
  a.join();
  b.join();
}
