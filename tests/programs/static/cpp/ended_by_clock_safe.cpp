// A thread counts until it is told to stop.
#include <atomic>
#include <chrono>
#include <iostream>
#include <thread>
std::atomic<bool> stop{false};
std::atomic<long> ticks{0};
int main() {
  std::thread t([] {
    while (!stop.load()) ticks++; // NORACE
  });
  auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  stop = true;
  t.join();
  auto passed = std::chrono::steady_clock::now() - begin;
  std::cout << ticks.load() << " in " << passed.count() << "\n"; // NORACE
}
