// flags: -std=c++20
// Whoever has waited for a change comes after who made it.
#include <atomic>
#include <thread>
int data;
std::atomic<int> flag = 0;
int main() {
  std::thread waiter([] {
    flag.wait(0);
    data++; // NORACE
  });
  data = 1; // NORACE
  flag = 1;
  flag.notify_all();
  waiter.join();
}
