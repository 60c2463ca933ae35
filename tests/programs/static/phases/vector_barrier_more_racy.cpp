// flags: -std=c++20
// Twice as many threads as the barrier waits for.
#include <barrier>
#include <thread>
#include <vector>
int before[8], after[8];
int main() {
  std::barrier phase(4);
  std::vector<std::thread> v;
  auto work = [&phase](int i) {
    before[i] = i; // RACE!
    phase.arrive_and_wait();
    after[i] = before[(i + 1) % 4]; // RACE!
  };
  for (int i = 0; i < 4; i++) {
    v.emplace_back([&work, i] { work(i); });
    v.emplace_back([&work, i] { work(i + 4); });
  }
  for (auto& t : v) t.join();
  return after[0];
}
