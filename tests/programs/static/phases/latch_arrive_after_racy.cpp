// flags: -std=c++20
// One of them writes when the latch is open already.
#include <latch>
#include <thread>
std::latch both{2};
int x;
void first() {
  both.arrive_and_wait();
  x = 1; // RACE!
}
void second() {
  both.arrive_and_wait();
  int seen = x; // RACE!
  (void)seen;
}
int main() {
  std::thread t(first), u(second);
  t.join();
  u.join();
}
