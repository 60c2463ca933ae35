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
  v.reserve(4);
  for (int i = 0; i < 4; i++) v.push_back(std::thread(work));
  for (size_t i = 0; i < v.size(); i++) v[i].join();
  return total; // NORACE
}
