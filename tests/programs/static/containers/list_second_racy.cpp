// The walk starts at the second thread.
#include <iterator>
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
  for (auto it = std::next(threads.begin()); it != threads.end(); ++it) it->join();
  int r = n; // RACE!
  threads.front().join();
  return r;
}
