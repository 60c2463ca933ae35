// std::condition_variable with a predicate.
#include "../program.h"
#include <condition_variable>
#include <mutex>
#include <thread>
int data;
bool ready;
std::mutex lock;
std::condition_variable cv;
int main() {
  std::thread consumer([] {
    std::unique_lock guard(lock);
    cv.wait(guard, [] { return ready; }); // NORACE
    guard.unlock();
    use(data); // NORACE
  });
  data = 1; // NORACE
  {
    std::lock_guard guard(lock);
    ready = true; // NORACE
  }
  cv.notify_one();
  consumer.join();
}
