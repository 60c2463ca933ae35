// The unique_lock is released before the access.
#include "../program.h"
#include <mutex>
#include <thread>
int value;
std::mutex lock;
void first() {
  std::unique_lock guard(lock);
  guard.unlock();
  value++; // RACE!
  done();
}
void second() {
  step(1);
  std::lock_guard guard(lock);
  value++; // RACE!
}
int main() {
  std::thread one(first), two(second);
  one.join();
  two.join();
}
