// The future of std::async waits when it goes.
#include <future>
int value;
int main() {
  {
    auto future = std::async(std::launch::async, [] {
      value = 1; // NORACE
    });
  }
  value = 2; // NORACE
  return value;
}
