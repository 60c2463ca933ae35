#include <mutex>
#include <thread>
class Counter {
  std::mutex lock;
  int value = 0;
public:
  void add() {
    std::lock_guard<std::mutex> guard(lock);
    value++; // NORACE
  }
  int get() {
    std::lock_guard<std::mutex> guard(lock);
    return value; // NORACE
  }
};
Counter counter;
int main() {
  std::thread t([] { counter.add(); });
  counter.add();
  t.join();
  return counter.get();
}
