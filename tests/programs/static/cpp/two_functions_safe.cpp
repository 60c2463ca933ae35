// Each thread runs its own function, though the library starts both through one.
#include <thread>
int x, y;
void first() { x = 1; } // NORACE
void second() { y = 1; } // NORACE
int main() {
  std::thread t(first), u(second);
  t.join();
  u.join();
  return x + y;
}
