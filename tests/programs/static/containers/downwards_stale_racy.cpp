// The number was taken before the last thread was added.
#include <mutex>
#include <thread>
#include <vector>
int n;
std::mutex m;
int main() {
  std::vector<std::thread> threads;
  auto work = [] {
    std::lock_guard<std::mutex> guard(m);
    n++; // RACE!
  };
  for (int i = 0; i < 4; i++) threads.emplace_back(work);
  int last = (int)threads.size() - 1;
  threads.emplace_back(work);
  for (int i = last; i >= 0; i--) threads[i].join();
  int r = n; // RACE!
  threads.back().join();
  return r;
}
