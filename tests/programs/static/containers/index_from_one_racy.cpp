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
  for (int i = 0; i < 4; i++) v.push_back(std::thread(work));
  for (size_t i = 1; i < v.size(); i++) v[i].join();
  int r = total; // RACE!
  v[0].join();
  return r;
}
