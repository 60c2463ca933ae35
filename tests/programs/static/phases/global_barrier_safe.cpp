// flags: -std=c++20
// Each writes before the barrier what the other reads after it.
#include <barrier>
#include <thread>
std::barrier both(2);
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
