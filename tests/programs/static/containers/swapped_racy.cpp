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
  std::vector<std::thread> v, w;
  for (int i = 0; i < 4; i++) v.emplace_back(work);
  std::swap(v, w);
  for (auto& t : v) t.join();
  int r = total; // RACE!
  for (auto& t : w) t.join();
  return r;
}
