// The value is changed again after the consumer was told.
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
    cv.wait(guard, [] { return ready; });
    guard.unlock();
    value++; // RACE!
  });
  {
    std::lock_guard<std::mutex> guard(m);
    ready = true;
  }
  cv.notify_one();
  value = 7; // RACE!
  consumer.join();
}
