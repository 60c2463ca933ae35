// A worker is told to stop by an atomic flag, then joined.
#include "../program.h"
#include <atomic>
#include <thread>
int value;
int main() {
  {
    std::atomic<bool> stop = false;
    std::thread worker([&] {
      while (!stop.load())
        std::this_thread::yield();
      value = 1; // NORACE
    });
    stop = true;
    worker.join();
  }
  value++; // NORACE
}
