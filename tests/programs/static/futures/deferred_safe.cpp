// A deferred function runs where its result is asked for.
#include <future>
int value;
int work(int by) {
  value += by; // NORACE
  return value;
}
int main() {
  auto future = std::async(std::launch::deferred, work, 3);
  value = 7; // NORACE
  return future.get();
}
