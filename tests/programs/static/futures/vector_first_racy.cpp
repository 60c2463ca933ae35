// One of two futures is waited for.
#include <future>
#include <vector>
int value;
int main() {
  std::vector<std::future<void>> futures;
  for (int i = 0; i < 2; i++)
    futures.push_back(std::async(std::launch::async, [] {
      value = 1; // RACE!
    }));
  futures[0].get();
  value = 4; // RACE!
  futures[1].get();
  return value;
}
