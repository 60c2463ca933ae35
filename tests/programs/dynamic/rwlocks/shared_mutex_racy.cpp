// A shared_lock where a unique_lock is needed.
#include "../program.h"
#include <shared_mutex>
#include <thread>
int value;
std::shared_mutex lock;
void first() {
  std::shared_lock guard(lock);
  value++; // RACE!
  done();
}
void second() {
  step(1);
  std::shared_lock guard(lock);
  value++; // RACE!
}
int main() {
  std::thread a(first), b(second);
  a.join();
  b.join();
}
