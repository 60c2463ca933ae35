// The first value opens the guard too.
#include "program.h"
#include <atomic>
#include <thread>
static std::atomic<int> flag{0};
static int data;
int main() {
  prepare();
  std::thread first([] {
    flag = 2;
    data = 1; // RACE!
    flag = 3;
    finished();
  });
  std::thread second([] {
    late();
    int seen = flag.load();
    if (seen >= 2)
      data = 2; // RACE!
  });
  first.join();
  second.join();
}
