#include <mutex>
#include <thread>
#include <vector>
int total;
std::mutex m;
static void work() {
  std::lock_guard<std::mutex> guard(m);
  total++; // RACE!
}
std::thread kept;
static void take(std::vector<std::thread>& v) { kept = std::move(v[0]); }
int main() {
  std::vector<std::thread> v;
  for (int i = 0; i < 4; i++) v.emplace_back(work);
  take(v);
  for (auto& t : v)
    if (t.joinable()) t.join();
  int r = total; // RACE!
  kept.join();
  return r;
}
