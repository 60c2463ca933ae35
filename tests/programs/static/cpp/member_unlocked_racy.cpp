#include <mutex>
#include <thread>
class Counter {
  std::mutex lock;
  int value = 0;
public:
  void add() {
    std::lock_guard<std::mutex> guard(lock);
    value++; // RACE!
  }
  int get() {
    return value; // RACE!
  }
};
Counter counter;
int main() {
  std::thread t([] { counter.add(); });
  int seen = counter.get();
  t.join();
  return seen;
}
