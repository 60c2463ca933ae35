#include <thread>
int x;
int main() {
  std::thread t([] {
    x = 1; // NORACE
  });
  t.join();
  x = 2; // NORACE
  return 0;
}
