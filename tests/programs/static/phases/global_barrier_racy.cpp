// flags: -std=c++20
// A barrier for one lets each go on alone.
#include <barrier>
#include <thread>
std::barrier both(1);
int x, y;
void first() {
  x = 1; // RACE!
  both.arrive_and_wait();
  int seen = y; // RACE!
  (void)seen;
}
void second() {
  y = 1; // RACE!
  both.arrive_and_wait();
  int seen = x; // RACE!
  (void)seen;
}
int main() {
  std::thread t(first), u(second);
  t.join();
  u.join();
}
