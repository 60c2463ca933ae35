#include <mutex>
#include <thread>
#include <vector>
int total;
std::mutex m;
static void work() {
  std::lock_guard<std::mutex> guard(m);
  total++; // NORACE
}
struct Pool {
  std::vector<std::thread> workers;
  explicit Pool(int n) {
    for (int i = 0; i < n; i++) workers.emplace_back(work);
  }
  ~Pool() {
    for (auto& t : workers) t.join();
  }
};
int main() {
  { Pool pool(4); }
  return total; // NORACE
}
