// flags: -std=c++20
// What is written without the lock, before it is told or after the lock was given up.
#include <condition_variable>
#include <mutex>
#include <thread>
std::condition_variable_any changed;
std::mutex mutex;
bool ready;
int late, early;
int main() {
  std::thread waiter([] {
    std::unique_lock<std::mutex> lock(mutex);
    if (!ready)
      changed.wait(lock);
    early++; // RACE!
    lock.unlock();
    late++; // RACE!
  });
  early = 1; // RACE!
  {
    std::lock_guard<std::mutex> lock(mutex);
    ready = true;
  }
  late = 1; // RACE!
  changed.notify_one();
  waiter.join();
}
