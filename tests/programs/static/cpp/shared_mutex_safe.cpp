#include <mutex>
#include <shared_mutex>
#include <thread>
std::shared_mutex m;
int x;
void write() { std::unique_lock<std::shared_mutex> l(m); x++; } // NORACE
int read() { std::shared_lock<std::shared_mutex> l(m); return x; } // NORACE
int main() {
  std::thread s(write), t([] { read(); });
  s.join();
  t.join();
  return x; // NORACE
}
