// An exception may come before anything was waited for.
#include <functional>
#include <future>
#include <thread>
int data;
int first(std::future<int> &future) {
  if (!future.valid()) throw 1;
  return future.get();
}
void reads(std::future<int> &future) {
  try {
    first(future);
  } catch (int) {
  }
  int seen = data; // RACE!
  (void)seen;
}
int main() {
  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  std::thread t(reads, std::ref(future));
  data = 5; // RACE!
  promise.set_value(3);
  t.join();
}
