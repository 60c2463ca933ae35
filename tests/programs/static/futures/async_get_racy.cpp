// The result is asked for too late.
#include <future>
int value;
int main() {
  auto future = std::async(std::launch::async, [] {
    value = 1; // RACE!
    return 3;
  });
  value = 2; // RACE!
  return future.get();
}
