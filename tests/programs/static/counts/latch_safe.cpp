// flags: -std=c++20
// Whoever has waited comes after all who counted down.
#include <latch>
#include <thread>
int first, second;
std::latch done(2);
int main() {
  std::thread a([] {
    first = 1; // NORACE
    done.count_down();
  });
  std::thread b([] {
    second = 1; // NORACE
    done.count_down();
  });
  done.wait();
  int sum = first + second; // NORACE
  a.join();
  b.join();
  return sum != 2;
}
