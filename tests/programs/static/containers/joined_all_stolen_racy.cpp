// Another thread takes a thread out of the vector before all that are left are joined.
#include <mutex>
#include <thread>
#include <utility>
#include <vector>
int n;
std::mutex m, lock;
std::vector<std::thread> threads;
std::thread kept;
int main() {
  for (int i = 0; i < 4; i++)
    threads.emplace_back([] {
      std::lock_guard<std::mutex> guard(m);
      n++; // RACE!
    });
  std::thread thief([] {
    std::lock_guard<std::mutex> guard(lock);
    if (!threads.empty()) {
      kept = std::move(threads.back());
      threads.pop_back();
    }
  });
  {
    std::lock_guard<std::mutex> guard(lock);
    for (auto &t : threads) t.join();
  }
  int r = n; // RACE!
  thief.join();
  if (kept.joinable()) kept.join();
  return r;
}
