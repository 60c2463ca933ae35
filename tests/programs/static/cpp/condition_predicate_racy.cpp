// The predicate asks for something else than what the producer says.
#include <condition_variable>
#include <mutex>
#include <thread>
std::mutex m;
std::condition_variable cv;
bool ready, started = true;
int value;
int main() {
  std::thread consumer([] {
    std::unique_lock<std::mutex> guard(m);
    cv.wait(guard, [] { return ready || started; });
    guard.unlock();
    value++; // RACE!
  });
  value = 7; // RACE!
  {
    std::lock_guard<std::mutex> guard(m);
    ready = true;
  }
  cv.notify_one();
  consumer.join();
}
