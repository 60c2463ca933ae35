// flags: -std=c++20
// There is nothing to wait for.
#include <atomic>
#include <thread>
int data;
std::atomic<int> flag = 2;
int main() {
  std::thread waiter([] {
    flag.wait(0);
    data++; // RACE!
  });
  data = 1; // RACE!
  flag = 1;
  flag.notify_all();
  waiter.join();
}
