#include <array>
#include <mutex>
#include <thread>
int total;
std::mutex m;
static void work() {
  std::lock_guard<std::mutex> guard(m);
  total++; // NORACE
}
int main() {
  std::array<std::thread, 4> v;
  for (int i = 0; i < 4; i++) v[i] = std::thread(work);
  for (auto& t : v) t.join();
  return total; // NORACE
}
