#include <atomic>
#include <thread>
std::atomic<bool> ready{false};
int data;
int main() {
  std::thread t([] {
    ready.store(true, std::memory_order_relaxed); // NORACE
    data = 3; // RACE!
  });
  while (!ready.load()) { // NORACE
  }
  int r = data; // RACE!
  t.join();
  return r;
}
