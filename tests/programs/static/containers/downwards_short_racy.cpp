#include <mutex>
#include <thread>
#include <vector>
int n;
std::mutex m;
int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([] {
      std::lock_guard<std::mutex> guard(m);
      n++; // RACE!
    });
  for (int i = (int)threads.size() - 2; i >= 0; i--) threads[i].join();
  int r = n; // RACE!
  threads.back().join();
  return r;
}
