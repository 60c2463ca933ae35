// A function takes the future and keeps it.
#include <future>
int value;
std::future<void> kept;
void take(std::future<void> future) { kept = std::move(future); }
int main() {
  auto future = std::async(std::launch::async, [] {
    value = 1; // RACE!
  });
  take(std::move(future));
  value = 2; // RACE!
  kept.get();
  return value;
}
