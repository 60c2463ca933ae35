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
  std::vector<std::thread> v(4);
  for (auto& t : v) t = std::thread(work);
  for (auto& t : v) t.join();
  return total; // NORACE
}
