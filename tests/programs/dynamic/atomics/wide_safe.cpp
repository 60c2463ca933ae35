// Atomic objects of every size, and a pointer.
#include "../program.h"
#include <atomic>
#include <thread>
std::atomic<char> c;
std::atomic<short> s;
std::atomic<long> l;
std::atomic<double> d;
std::atomic<int *> p;
int target;
int main() {
  auto work = [] {
    c++; // NORACE
    s++; // NORACE
    l += 3; // NORACE
    d.store(d.load() + 1); // NORACE
    p.store(&target); // NORACE
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
}
