#include <mutex>
#include <thread>
#include <vector>
std::mutex m;
long total;
void work(int n) {
  std::lock_guard<std::mutex> g(m);
  total += n; // NORACE
}
int main() {
  std::vector<std::thread> pool;
  for (int i = 0; i < 4; i++) pool.emplace_back(work, i);
  for (auto &t : pool) t.join();
  std::lock_guard<std::mutex> g(m);
  return total; // NORACE
}
