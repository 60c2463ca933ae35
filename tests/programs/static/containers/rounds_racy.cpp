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
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 4; i++) v.emplace_back(work);
    if (round == 1)
      for (auto& t : v) t.join();
    total++; // RACE!
  }
  return 0;
}
