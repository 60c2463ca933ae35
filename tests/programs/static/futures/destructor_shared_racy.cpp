// The future has given its state to a shared one, which is waited for too late.
#include <future>
int value;
int main() {
  std::shared_future<void> shared;
  {
    auto future = std::async(std::launch::async, [] {
      value = 1; // RACE!
    });
    shared = future.share();
  }
  value = 2; // RACE!
  shared.wait();
  return value;
}
