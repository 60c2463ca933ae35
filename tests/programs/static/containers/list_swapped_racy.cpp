#include <list>
#include <mutex>
#include <thread>
int n;
std::mutex m;
int main() {
  std::list<std::thread> threads, others;
  threads.emplace_back([] {
    std::lock_guard<std::mutex> guard(m);
    n++; // RACE!
  });
  std::swap(threads, others);
  for (auto &t : threads) t.join();
  int r = n; // RACE!
  for (auto &t : others) t.join();
  return r;
}
