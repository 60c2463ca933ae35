#include <mutex>
#include <shared_mutex>
#include <thread>
std::shared_mutex m;
int x;
void grow() { std::unique_lock<std::shared_mutex> l(m); x++; } // NORACE
int peek() { std::shared_lock<std::shared_mutex> l(m); return x; } // NORACE
int main() {
  std::thread s(grow), t([] { peek(); });
  s.join();
  t.join();
  return x; // NORACE
}
