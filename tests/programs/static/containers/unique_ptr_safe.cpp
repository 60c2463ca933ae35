#include <memory>
#include <mutex>
#include <thread>
int total;
std::mutex m;
static void work() {
  std::lock_guard<std::mutex> guard(m);
  total++; // NORACE
}
int main() {
  auto t = std::make_unique<std::thread>(work);
  t->join();
  return total; // NORACE
}
