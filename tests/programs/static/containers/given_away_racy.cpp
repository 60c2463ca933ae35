#include <mutex>
#include <thread>
#include <vector>
int total;
std::mutex m;
static void work() {
  std::lock_guard<std::mutex> guard(m);
  total++; // RACE!
}
std::vector<std::thread> all;
static void add(std::thread& t) { all.push_back(std::move(t)); }
int main() {
  {
    std::thread t(work);
    add(t);
  }
  int r = total; // RACE!
  for (auto& t : all) t.join();
  return r;
}
