// Threads by pointers to members of one class.
#include <thread>
struct Pair {
  int x, y;
  void first() { x = 1; } // NORACE
  void second() { y = 1; } // NORACE
} both;
int main() {
  std::thread t(&Pair::first, &both), u(&Pair::second, &both);
  t.join();
  u.join();
  return both.x + both.y;
}
