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
  for (auto it = v.begin(); it < v.end(); it += 2) it->join();
  int r = total; // RACE!
  v[1].join();
  v[3].join();
  return r;
}
