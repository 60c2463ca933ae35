// The threads behind a vector of futures share a total without a lock.
#include <future>
#include <vector>
int total;
int main() {
  std::vector<std::future<void>> futures;
  for (int i = 0; i < 8; i++)
    futures.push_back(std::async(std::launch::async, [i] {
      total += i; // RACE!
    }));
  for (auto &future : futures)
    future.get();
  return total;
}
