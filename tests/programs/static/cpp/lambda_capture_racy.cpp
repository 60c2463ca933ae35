#include <thread>
int main() {
  int x = 0;
  std::thread t([&x] {
    x++; // RACE!
  });
  x = 2; // RACE!
  t.join();
  return x; // NORACE
}
