// A value is handed over with what was written before it.
#include <functional>
#include <future>
#include <thread>
int data;
void work(std::promise<int> &promise) {
  data = 4; // NORACE
  promise.set_value(3);
}
int main() {
  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  std::thread t(work, std::ref(promise));
  int sum = future.get() + data; // NORACE
  t.join();
  return sum;
}
