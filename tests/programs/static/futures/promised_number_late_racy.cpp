// What is written after the value was set is not handed over.
#include <functional>
#include <future>
#include <thread>
int data;
void work(std::promise<int> &promise) {
  promise.set_value(3);
  data = 4; // RACE!
}
int main() {
  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  std::thread t(work, std::ref(promise));
  int sum = future.get() + data; // RACE!
  t.join();
  return sum;
}
