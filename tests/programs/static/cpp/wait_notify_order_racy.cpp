// flags: -std=c++20
// The wait acquires nothing.
#include <atomic>
#include <thread>
int data;
std::atomic<int> flag = 0;
int main() {
  std::thread waiter([] {
    flag.wait(0, std::memory_order_relaxed);
    data++; // RACE!
  });
  data = 1; // RACE!
  flag = 1;
  flag.notify_all();
  waiter.join();
}
