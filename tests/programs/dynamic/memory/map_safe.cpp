// A tree that is filled, searched and emptied under a lock.
#include "../program.h"
#include <map>
#include <mutex>
#include <thread>
std::map<int, int> numbers;
std::mutex lock;
void work(int from) {
  for (int i = from; i < from + 200; i++) {
    std::lock_guard<std::mutex> guard(lock);
    numbers.emplace(i, i);     // NORACE
    if (numbers.count(i - 20)) // NORACE
      numbers.erase(i - 20);   // NORACE
    int sum = 0;
    for (auto &entry : numbers) // NORACE
      sum += entry.second;
    for (auto last = numbers.rbegin(); last != numbers.rend(); ++last) // NORACE
      sum += last->second;
    use(sum);
  }
}
int main() {
  std::thread a(work, 0), b(work, 1000);
  a.join();
  b.join();
  numbers.clear();
}
