// Words are counted by two threads at once.
#include <iostream>
#include <map>
#include <string>
#include <thread>
std::map<std::string, int> counts;
void work(const char *word) {
  for (int i = 0; i < 100; i++) counts[word]++; // RACE!
}
int main() {
  std::thread a(work, "apple"), b(work, "pear");
  a.join();
  b.join();
  for (const auto &[word, count] : counts) std::cout << word << ' ' << count << std::endl; // NORACE
}
