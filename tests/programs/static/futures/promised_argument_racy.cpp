// Setting the value of a promise reads what it is given.
#include <future>
#include <thread>
int value;
int main() {
  std::promise<int> promise;
  auto future = promise.get_future();
  std::thread thread([&promise] {
    promise.set_value(value); // RACE! miss(static): named in the header that copies
  });
  value = 7; // RACE!
  int result = future.get();
  thread.join();
  return result;
}
