// C++20 atomic wait and notify.
#include "../program.h"
#include <atomic>
#include <thread>
int data;
std::atomic<int> flag = 0;
int main() {
  std::thread waiter([] {
    flag.wait(0);
    use(data); // NORACE
  });
  data = 1; // NORACE
  flag = 1;
  flag.notify_all();
  waiter.join();
}
