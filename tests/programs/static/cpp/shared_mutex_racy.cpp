#include <shared_mutex>
#include <thread>
std::shared_mutex m;
int x;
void write() { std::shared_lock<std::shared_mutex> l(m); x++; } // RACE!
int main() {
  std::thread s(write), t(write);
  s.join();
  t.join();
  return x; // NORACE
}
