// Getting the result waits for the thread that computes it.
#include <future>
int value;
int main() {
  auto future = std::async(std::launch::async, [] {
    value = 1; // NORACE
    return 3;
  });
  int result = future.get();
  value += result; // NORACE
  return value;
}
