#include <algorithm>
#include <functional>
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
  int before = total;
  std::vector<std::thread> v;
  for (int i = 0; i < 4; i++) v.emplace_back(work);
  for (int i = 0; i < 4; i++) v.emplace_back(work);
  std::for_each(v.begin(), v.end(), std::mem_fn(&std::thread::join));
  return total + before; // NORACE
}
