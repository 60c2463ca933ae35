#include <shared_mutex>
#include <thread>
std::shared_mutex m;
int x;
void grow() { std::shared_lock<std::shared_mutex> l(m); x++; } // RACE!
int main() {
  std::thread s(grow), t(grow);
  s.join();
  t.join();
  return x; // NORACE
}
