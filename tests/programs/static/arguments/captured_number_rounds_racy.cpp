// The numbers come again while the threads of the first round run.
#include <thread>
#include <vector>
int main() {
  std::vector<int> parts(4);
  std::vector<std::thread> v;
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < 4; i++)
      v.emplace_back([&parts, i] {
        parts[i]++; // RACE!
      });
  for (auto& t : v) t.join();
  int sum = 0;
  for (int part : parts) sum += part;
  return sum;
}
