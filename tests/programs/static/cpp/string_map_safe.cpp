// Words are counted under a lock; the strings are the map's own.
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
std::map<std::string, int> counts;
std::mutex m;
void work(const char *word) {
  for (int i = 0; i < 100; i++) {
    std::unique_lock<std::mutex> l(m);
    counts[word]++; // NORACE
  }
}
int main() {
  std::thread a(work, "apple"), b(work, "pear");
  a.join();
  b.join();
  for (const auto &[word, count] : counts) std::cout << word << ' ' << count << std::endl; // NORACE
}
