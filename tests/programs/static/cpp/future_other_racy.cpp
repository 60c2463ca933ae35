// What is waited for is another thread's promise.
#include <future>
#include <thread>
int data;
int main() {
  std::promise<void> ready, other;
  std::future<void> wait = ready.get_future(), more = other.get_future();
  std::thread worker([&ready] {
    data = 3; // RACE!
    ready.set_value();
  });
  std::thread second([&other] { other.set_value(); });
  more.get();
  data = 4; // RACE!
  wait.get();
  worker.join();
  second.join();
}
