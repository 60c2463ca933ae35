// The promise is kept before the data is written.
#include <future>
#include <thread>
int data;
int main() {
  std::promise<void> ready;
  std::future<void> wait = ready.get_future();
  std::thread worker([&ready] {
    ready.set_value();
    data = 3; // RACE!
  });
  wait.get();
  data = 4; // RACE!
  worker.join();
}
