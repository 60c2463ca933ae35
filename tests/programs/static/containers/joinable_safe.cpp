#include <mutex>
#include <thread>
#include <vector>
int total;
std::mutex m;
static void work() {
  std::lock_guard<std::mutex> guard(m);
  total++; // NORACE
}
int main() {
  std::vector<std::thread> v;
  for (int i = 0; i < 4; i++) v.emplace_back(work);
  for (auto& t : v) {
    if (!t.joinable()) continue;
    t.join();
  }
  return total; // NORACE
}
