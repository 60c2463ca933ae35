// What goes is a future that was moved from: nothing is waited for.
#include <future>
int value;
std::future<void> kept;
int main() {
  {
    auto future = std::async(std::launch::async, [] {
      value = 1; // RACE!
    });
    kept = std::move(future);
  }
  value = 2; // RACE!
  kept.get();
  return value;
}
