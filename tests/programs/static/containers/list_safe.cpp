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
      n++; // NORACE
    });
  for (auto &thread : threads) thread.join();
  return n; // NORACE
}
