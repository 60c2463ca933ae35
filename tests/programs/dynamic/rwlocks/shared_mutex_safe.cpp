// std::shared_mutex.
#include "../program.h"
#include <mutex>
#include <shared_mutex>
#include <thread>
int value;
std::shared_mutex lock;
void reader() {
  for (int i = 0; i < 20; i++) {
    std::shared_lock guard(lock);
    use(value); // NORACE
  }
}
void writer() {
  for (int i = 0; i < 20; i++) {
    std::unique_lock guard(lock);
    value++; // NORACE
  }
}
int main() {
  std::thread a(reader), b(writer), c(reader);
  a.join();
  b.join();
  c.join();
}
