#include <thread>
#include <vector>
long total;
void work(int n) { total += n; } // RACE!
int main() {
  std::vector<std::thread> pool;
  for (int i = 0; i < 4; i++) pool.emplace_back(work, i);
  for (auto &t : pool) t.join();
  return 0;
}
