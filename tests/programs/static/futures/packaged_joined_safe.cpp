// A task that was moved into its thread, which is joined before its data are read.
#include <future>
#include <thread>
int data;
int main() {
  std::packaged_task<int(int)> task([](int number) {
    data = number; // NORACE
    return number + 1;
  });
  auto future = task.get_future();
  std::thread t(std::move(task), 5);
  int result = future.get();
  t.join();
  return result + data; // NORACE
}
