#include <mutex>
#include <thread>
#include <deque>
int n;
std::mutex m;
int main(int argc, char **) {
  std::deque<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([] {
      std::lock_guard<std::mutex> guard(m);
      n++; // RACE!
    });
  while (!threads.empty()) {
    if (argc > 2) break;
    threads.front().join();
    threads.pop_front();
  }
  int r = n; // RACE!
  for (auto &t : threads) t.join();
  return r;
}
