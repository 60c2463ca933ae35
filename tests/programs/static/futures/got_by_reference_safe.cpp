// The future is waited for in the other thread.
#include <functional>
#include <future>
#include <thread>
int data;
void reads(std::future<int> &future) {
  int sum = future.get() + data; // NORACE
  (void)sum;
}
int main() {
  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  std::thread t(reads, std::ref(future));
  data = 5; // NORACE
  promise.set_value(3);
  t.join();
}
