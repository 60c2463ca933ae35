// flags: -std=c++17
#include <map>
#include <mutex>
#include <thread>
int n;
std::mutex m;
int main() {
  std::map<int, std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace(i, std::thread([] {
      std::lock_guard<std::mutex> guard(m);
      n++; // RACE!
    }));
  auto node = threads.extract(2);
  for (auto &t : threads) t.second.join();
  int r = n; // RACE!
  node.mapped().join();
  return r;
}
