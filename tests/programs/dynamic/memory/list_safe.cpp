// A list whose elements go over to another one under a lock.
#include "../program.h"
#include <list>
#include <mutex>
#include <thread>
std::list<int> waiting, ready;
std::mutex lock;
void work(int from) {
  for (int i = from; i < from + 100; i++) {
    std::lock_guard<std::mutex> guard(lock);
    waiting.push_back(i);                 // NORACE
    ready.splice(ready.begin(), waiting); // NORACE
    if (ready.size() > 10)                // NORACE
      ready.pop_back();                   // NORACE
  }
}
int main() {
  std::thread a(work, 0), b(work, 1000);
  a.join();
  b.join();
  ready.clear();
}
