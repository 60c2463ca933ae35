#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>
class Queue {
public:
  void push(int v) {
    std::lock_guard<std::mutex> guard(m);
    items.push_back(v); // NORACE
    filled.notify_one();
  }
  bool pop(int& v) {
    std::unique_lock<std::mutex> lock(m);
    filled.wait(lock, [this] { return closed || !items.empty(); }); // RACE!
    if (items.empty()) return false; // NORACE
    v = items.front(); // NORACE
    items.pop_front(); // NORACE
    return true;
  }
  void close() {
    closed = true; // RACE!
    filled.notify_all();
  }

private:
  std::mutex m;
  std::condition_variable filled;
  std::deque<int> items;
  bool closed = false;
};
int main() {
  Queue queue;
  std::mutex sums;
  long sum = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < 3; i++)
    workers.emplace_back([&] {
      int v;
      while (queue.pop(v)) {
        std::lock_guard<std::mutex> guard(sums);
        sum += v; // NORACE
      }
    });
  for (int i = 0; i < 100; i++) queue.push(i);
  queue.close();
  for (auto& w : workers) w.join();
  return sum == 4950; // NORACE
}
