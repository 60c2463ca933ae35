// The last thread is moved out before the container is found empty.
#include <mutex>
#include <thread>
#include <utility>
#include <vector>
int n;
std::mutex m;
int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([] {
      std::lock_guard<std::mutex> guard(m);
      n++; // RACE!
    });
  std::thread kept;
  while (!threads.empty()) {
    if (threads.size() == 1)
      kept = std::move(threads.back());
    else
      threads.back().join();
    threads.pop_back();
  }
  int r = n; // RACE!
  kept.join();
  return r;
}
