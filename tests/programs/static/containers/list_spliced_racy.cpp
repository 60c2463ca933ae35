// The threads are in the other list when this one is joined.
#include <list>
#include <mutex>
#include <thread>
int n;
std::mutex m;
int main() {
  std::list<std::thread> threads, others;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([] {
      std::lock_guard<std::mutex> guard(m);
      n++; // RACE!
    });
  others.splice(others.begin(), threads);
  for (auto &t : threads) t.join();
  int r = n; // RACE!
  for (auto &t : others) t.join();
  return r;
}
