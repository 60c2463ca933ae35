// A promise hands over a value, and what was written before.
#include "../program.h"
#include <future>
#include <thread>
int data;
int main() {
  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  std::thread giver([&] {
    data = 1; // NORACE
    promise.set_value(2);
  });
  use(future.get());
  data++; // NORACE
  giver.join();
}
