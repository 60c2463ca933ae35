#include <atomic>
#include <thread>
std::atomic<int> x;
void work() {
  x++; // NORACE
}
int main() {
  std::thread t(work);
  x.store(3, std::memory_order_relaxed); // NORACE
  t.join();
  return x.load(); // NORACE
}
