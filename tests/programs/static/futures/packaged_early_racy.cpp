// The data are read before anything is waited for.
#include <future>
#include <thread>
int data;
int main() {
  std::packaged_task<int(int)> task([](int number) {
    data = number; // RACE!
    return number + 1;
  });
  auto future = task.get_future();
  std::thread t(std::move(task), 5);
  int seen = data; // RACE!
  future.get();
  t.join();
  return seen;
}
