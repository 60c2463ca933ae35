// Told by a condition with a predicate, read after the lock was given back.
#include <condition_variable>
#include <mutex>
#include <thread>
std::mutex m;
std::condition_variable cv;
bool ready;
int value;
int main() {
  std::thread consumer([] {
    std::unique_lock<std::mutex> guard(m);
    cv.wait(guard, [] { return ready; }); // NORACE
    guard.unlock();
    value++; // NORACE
  });
  value = 7; // NORACE
  {
    std::lock_guard<std::mutex> guard(m);
    ready = true; // NORACE
  }
  cv.notify_one();
  consumer.join();
}
