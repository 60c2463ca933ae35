#include <mutex>
#include <thread>
#include <vector>
int total;
std::mutex m;
static void work() {
  std::lock_guard<std::mutex> guard(m);
  total++; // RACE!
}
int main() {
  std::vector<std::thread> v;
  for (int i = 0; i < 4; i++) v.emplace_back(work);
  size_t n = v.size();
  v.emplace_back(work);
  for (size_t i = 0; i < n; i++) v[i].join();
  int r = total; // RACE!
  v.back().join();
  return r;
}
