#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>
class Pool {
public:
  explicit Pool(int n) {
    for (int i = 0; i < n; i++) workers.emplace_back([this] { run(); });
  }
  ~Pool() {
    {
      std::lock_guard<std::mutex> guard(m);
      stopped = true; // NORACE
    }
    ready.notify_all();
    for (auto& t : workers) t.join();
  }
  void submit(std::function<void()> task) {
    {
      std::lock_guard<std::mutex> guard(m);
      tasks.push(std::move(task)); // NORACE
    }
    ready.notify_one();
  }

private:
  void run() {
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock<std::mutex> lock(m);
        ready.wait(lock, [this] { return stopped || !tasks.empty(); }); // NORACE
        if (tasks.empty()) return; // NORACE
        task = std::move(tasks.front()); // NORACE
        tasks.pop(); // NORACE
      }
      task();
    }
  }
  std::queue<std::function<void()>> tasks;
  std::mutex m;
  std::condition_variable ready;
  bool stopped = false;
  std::vector<std::thread> workers;
};
std::mutex sums;
int sum;
int main() {
  {
    Pool pool(4);
    for (int i = 0; i < 10; i++)
      pool.submit([i] {
        sum += i; // RACE!
      });
  }
  return sum; // NORACE
}
