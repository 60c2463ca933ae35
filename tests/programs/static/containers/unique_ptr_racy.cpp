#include <memory>
#include <mutex>
#include <thread>
int total;
std::mutex m;
static void work() {
  std::lock_guard<std::mutex> guard(m);
  total++; // RACE!
}
int main() {
  auto t = std::make_unique<std::thread>(work);
  int r = total; // RACE!
  t->join();
  return r;
}
