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
  while (!others.empty()) {
    others.front().join();
    others.pop_front();
  }
  int r = n; // RACE!
  for (auto &t : threads) t.join();
  return r;
}
