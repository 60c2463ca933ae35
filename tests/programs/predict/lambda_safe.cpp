// Only the value stored after the write opens the guard.
#include "program.h"
#include <atomic>
#include <thread>
static std::atomic<int> flag{0};
static int data;
int main() {
  prepare();
  std::thread first([] {
    flag = 2;
    data = 1; // NORACE
    flag = 3;
    finished();
  });
  std::thread second([] {
    late();
    int seen = flag.load();
    if (seen >= 3)
      data = 2; // NORACE
  });
  first.join();
  second.join();
}
