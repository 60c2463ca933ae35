// A deferred function runs on the thread that waits, beside the other.
#include <future>
#include <thread>
int value;
void work() {
  value++; // RACE!
}
int main() {
  auto future = std::async(std::launch::deferred, work);
  std::thread other([] {
    value++; // RACE!
  });
  future.get();
  other.join();
  return value;
}
