// The loop may end before all futures were waited for.
#include <future>
#include <vector>
int value;
int main(int count, char **) {
  std::vector<std::future<void>> futures;
  futures.push_back(std::async(std::launch::async, [] {
    value = 1; // RACE!
  }));
  for (auto &future : futures) {
    if (count > 1)
      break;
    future.get();
  }
  value = 4; // RACE!
  return value;
}
