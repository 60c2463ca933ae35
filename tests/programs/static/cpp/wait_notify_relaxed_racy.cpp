// flags: -std=c++20
// The change releases nothing.
#include <atomic>
#include <thread>
int data;
std::atomic<int> flag = 0;
int main() {
  std::thread waiter([] {
    flag.wait(0);
    data++; // RACE!
  });
  data = 1; // RACE!
  flag.store(1, std::memory_order_relaxed);
  flag.notify_all();
  waiter.join();
}
