#include <list>
#include <mutex>
#include <thread>
int n;
std::mutex m;
int main() {
  std::list<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([] {
      std::lock_guard<std::mutex> guard(m);
      n++; // RACE!
    });
  for (auto it = threads.begin(); it != threads.end(); ++it) {
    it->join();
    ++it;
  }
  int r = n; // RACE!
  for (auto &t : threads) if (t.joinable()) t.join();
  return r;
}
