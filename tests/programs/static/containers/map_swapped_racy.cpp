#include <map>
#include <mutex>
#include <thread>
int n;
std::mutex m;
int main() {
  std::map<int, std::thread> threads, others;
  for (int i = 0; i < 4; i++)
    threads.emplace(i, std::thread([] {
      std::lock_guard<std::mutex> guard(m);
      n++; // RACE!
    }));
  threads.swap(others);
  for (auto &t : threads) t.second.join();
  int r = n; // RACE!
  for (auto &t : others) t.second.join();
  return r;
}
