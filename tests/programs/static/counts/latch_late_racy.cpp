// flags: -std=c++20
// Written after counting down.
#include <latch>
#include <thread>
int first, second;
std::latch done(2);
int main() {
  std::thread a([] {
    first = 1;
    done.count_down();
  });
  std::thread b([] {
    done.count_down();
    second = 1; // RACE!
  });
  done.wait();
  int sum = first + second; // RACE!
  a.join();
  b.join();
  return sum != 2;
}
