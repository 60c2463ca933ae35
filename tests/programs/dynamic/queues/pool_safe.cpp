// A thread pool: tasks run anywhere, results are read after the pool has drained.
#include "../program.h"
#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>
std::mutex lock;
std::condition_variable cv;
std::queue<std::function<void()>> tasks;
bool closed;
void worker() {
  for (;;) {
    std::unique_lock guard(lock);
    cv.wait(guard, [] { return closed || !tasks.empty(); });
    if (tasks.empty())
      return;
    auto task = std::move(tasks.front());
    tasks.pop();
    guard.unlock();
    task();
  }
}
int main() {
  std::vector<int> results(20);
  std::thread a(worker), b(worker);
  for (int &result : results) {
    std::lock_guard guard(lock);
    tasks.push([&result] { result = 1; }); // NORACE
    cv.notify_one();
  }
  {
    std::lock_guard guard(lock);
    closed = true; // NORACE
  }
  cv.notify_all();
  a.join();
  b.join();
  for (int result : results)
    use(result); // NORACE
}
