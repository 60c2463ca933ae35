// std::mutex through every guard.
#include "../program.h"
#include <mutex>
#include <thread>
int value;
std::mutex a, b;
void work() {
  {
    std::lock_guard guard(a);
    value++; // NORACE
  }
  {
    std::unique_lock guard(a, std::defer_lock);
    guard.lock();
    value++; // NORACE
  }
  std::scoped_lock guard(a, b);
  value++; // NORACE
}
int main() {
  std::thread one(work), two(work);
  one.join();
  two.join();
}
