#include <atomic>
#include <thread>
std::atomic<bool> ready{false};
int data;
int main() {
  std::thread t([] {
    data = 3; // NORACE
    ready.store(true, std::memory_order_release); // NORACE
  });
  while (!ready.load(std::memory_order_acquire)) { // NORACE
  }
  int r = data; // NORACE
  t.join();
  return r;
}
