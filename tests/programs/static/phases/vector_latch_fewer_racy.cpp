// flags: -std=c++20
#include <latch>
#include <thread>
#include <vector>
int parts[4];
int main() {
  std::latch done(3);
  std::vector<std::jthread> v;
  for (int i = 0; i < 4; i++)
    v.emplace_back([&done, i] {
      parts[i] = i; // RACE!
      done.count_down();
    });
  done.wait();
  return parts[1]; // RACE!
}
