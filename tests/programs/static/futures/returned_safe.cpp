// A function starts the thread and hands its future over.
#include <future>
int value;
std::future<int> start() {
  return std::async(std::launch::async, [] {
    value = 1; // NORACE
    return 1;
  });
}
int main() {
  std::future<int> future = start();
  future.wait();
  value = 2; // NORACE
  return future.get();
}
