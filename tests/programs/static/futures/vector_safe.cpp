// All futures of a vector are waited for.
#include <future>
#include <mutex>
#include <vector>
int total;
std::mutex mutex;
void work(int by) {
  std::lock_guard<std::mutex> guard(mutex);
  total += by; // NORACE
}
int main() {
  std::vector<std::future<void>> futures;
  for (int i = 0; i < 8; i++)
    futures.push_back(std::async(std::launch::async, work, i));
  for (auto &future : futures)
    future.get();
  return total; // NORACE
}
