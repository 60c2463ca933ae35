// Waiting may end before the thread does.
#include <chrono>
#include <future>
int value;
int main() {
  auto future = std::async(std::launch::async, [] {
    value = 1; // RACE!
  });
  future.wait_for(std::chrono::seconds(1));
  value = 2; // RACE!
  return value;
}
