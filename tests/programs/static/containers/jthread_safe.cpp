// flags: -std=c++20
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
  {
    std::vector<std::jthread> v;
    for (int i = 0; i < 4; i++) v.emplace_back(work);
  }
  return total; // NORACE
}
