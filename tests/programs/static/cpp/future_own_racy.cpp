// The waiting thread has kept a promise of its own before.
#include <future>
#include <thread>
int data;
int main() {
  std::promise<void> ready, own;
  std::future<void> wait = ready.get_future(), mine = own.get_future();
  std::thread worker([&ready] {
    data = 3; // RACE!
    ready.set_value();
  });
  own.set_value();
  mine.get();
  data = 4; // RACE!
  worker.join();
}
