// flags: -std=c++20
// Each thread reads what its neighbour wrote in the phase before.
#include <barrier>
#include <thread>
#include <vector>
int before[8], after[8];
int main() {
  std::barrier phase(4);
  std::vector<std::thread> v;
  auto work = [&phase](int i) {
    before[i] = i; // NORACE
    phase.arrive_and_wait();
    after[i] = before[(i + 1) % 4]; // NORACE
  };
  for (int i = 0; i < 4; i++) {
    v.emplace_back([&work, i] { work(i); });
  }
  for (auto& t : v) t.join();
  return after[0];
}
