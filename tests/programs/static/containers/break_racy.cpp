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
  std::vector<std::thread> v(4);
  for (auto& t : v) t = std::thread(work);
  for (auto& t : v) {
    if (argc > 1) break;
    t.join();
  }
  int r = total; // RACE!
  for (auto& t : v)
    if (t.joinable()) t.join();
  return r;
}
