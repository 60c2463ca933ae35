// The wrong future is waited for.
#include <future>
int value, other;
int main() {
  auto first = std::async(std::launch::async, [] {
    value = 1; // RACE!
  });
  auto second = std::async(std::launch::async, [] { other = 1; });
  second.get();
  value = 2; // RACE!
  first.get();
  return value;
}
