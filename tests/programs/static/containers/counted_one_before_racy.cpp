#include <mutex>
#include <thread>
#include <vector>
int total;
std::mutex m;
static void work() {
  std::lock_guard<std::mutex> guard(m);
  total++; // RACE!
}
int main(int argc, char**) {
  const int n = argc + 3;
  std::vector<std::thread> v;
  v.emplace_back([] {});
  for (int i = 0; i < n; i++) v.emplace_back(work);
  for (int i = 0; i < n; i++) v[i].join();
  int r = total; // RACE!
  v[n].join();
  return r;
}
