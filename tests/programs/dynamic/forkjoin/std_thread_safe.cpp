// std::thread with arguments, lambdas and a moved handle.
#include "../program.h"
#include <thread>
#include <vector>
int main() {
  std::vector<int> values(4);
  std::vector<std::thread> threads;
  for (int &value : values)
    threads.emplace_back([&value](int by) { value += by; }, 2); // NORACE
  for (std::thread &thread : threads)
    thread.join();
  for (int value : values)
    use(value); // NORACE
}
