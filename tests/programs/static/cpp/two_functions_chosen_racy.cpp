// Which function the first thread runs is known when it starts only.
#include <thread>
int x, y;
void first() { x = 1; } // RACE!
void second() { y = 1; }
int main(int count, char **) {
  void (*chosen)() = count > 1 ? first : second;
  std::thread t(chosen), u(first);
  t.join();
  u.join();
  return x + y;
}
