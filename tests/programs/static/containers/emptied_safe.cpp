#include <deque>
#include <mutex>
#include <thread>
#include <vector>
int n, k;
std::mutex m;
int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([] {
      std::lock_guard<std::mutex> guard(m);
      n++; // NORACE
    });
  while (!threads.empty()) {
    threads.back().join();
    threads.pop_back();
  }
  n = 0; // NORACE
  std::deque<std::thread> others;
  for (int i = 0; i < 4; i++)
    others.emplace_back([] {
      std::lock_guard<std::mutex> guard(m);
      k++; // NORACE
    });
  while (!others.empty()) {
    others.front().join();
    others.pop_front();
  }
  return n + k; // NORACE
}
