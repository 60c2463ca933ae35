#include <mutex>
#include <thread>
std::mutex a, b;
int x, y;
void swap_them() {
  std::scoped_lock both(a, b);
  int t = x; // NORACE
  x = y;     // NORACE
  y = t;     // NORACE
}
void touch() {
  std::lock_guard<std::mutex> g(b);
  y++; // NORACE
}
int main() {
  std::thread s(swap_them), t(touch);
  s.join();
  t.join();
  return x + y; // NORACE
}
