#include <deque>
#include <mutex>
#include <thread>
int n;
std::mutex m;
int main() {
  std::deque<std::thread> threads, others;
  threads.emplace_back([] {
    std::lock_guard<std::mutex> guard(m);
    n++; // RACE!
  });
  others = std::move(threads);
  int r = 0;
  if (threads.empty()) r = n; // RACE!
  others.front().join();
  return r;
}
