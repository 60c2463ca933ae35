// The producer goes on with the data after it notified.
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
    step(1);
    std::unique_lock guard(lock);
    cv.wait(guard, [] { return ready; }); // NORACE
    guard.unlock();
    data++; // RACE!
  });
  {
    std::lock_guard guard(lock);
    ready = true; // NORACE
  }
  cv.notify_one();
  data++; // RACE!
  done();
  consumer.join();
}
