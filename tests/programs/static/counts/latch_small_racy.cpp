// flags: -std=c++20
// The first to count down lets the waiter go.
#include <latch>
#include <thread>
int first, second;
std::latch done(1);
int main() {
  std::thread a([] {
    first = 1;
    done.count_down();
  });
  std::thread b([] {
    second = 1; // RACE!
  });
  done.wait();
  int sum = first + second; // RACE!
  a.join();
  b.join();
  return sum != 2;
}
