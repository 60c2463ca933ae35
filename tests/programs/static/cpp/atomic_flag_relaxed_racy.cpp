// The member functions get an order that orders nothing.
#include <atomic>
#include <thread>
std::atomic<bool> ready{false};
int data;
int main() {
  std::thread t([] {
    data = 3; // RACE!
    ready.store(true, std::memory_order_relaxed);
  });
  while (!ready.load(std::memory_order_acquire)) {
  }
  int r = data; // RACE!
  t.join();
  return r;
}
