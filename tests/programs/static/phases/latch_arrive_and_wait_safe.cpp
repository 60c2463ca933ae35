// flags: -std=c++20
// Who arrives at the latch waits there for the other.
#include <latch>
#include <thread>
std::latch both{2};
int x, y;
void first() {
  x = 1; // NORACE
  both.arrive_and_wait();
  int seen = y; // NORACE
  (void)seen;
}
void second() {
  y = 1; // NORACE
  both.arrive_and_wait();
  int seen = x; // NORACE
  (void)seen;
}
int main() {
  std::thread t(first), u(second);
  t.join();
  u.join();
}
