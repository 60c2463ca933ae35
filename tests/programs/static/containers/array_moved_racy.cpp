#include <mutex>
#include <thread>
int total;
std::mutex m;
static void work() {
  std::lock_guard<std::mutex> guard(m);
  total++; // RACE!
}
int main() {
  std::thread v[4];
  for (auto& t : v) t = std::thread(work);
  std::thread one = std::move(v[2]);
  for (auto& t : v)
    if (t.joinable()) t.join();
  int r = total; // RACE!
  one.join();
  return r;
}
