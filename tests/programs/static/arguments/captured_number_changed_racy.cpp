// The thread changes its copy of the number.
#include <thread>
#include <vector>
int main() {
  std::vector<int> parts(4);
  std::vector<std::thread> v;
  for (int i = 0; i < 4; i++)
    v.emplace_back([&parts, i]() mutable {
      i = 0;
      parts[i]++; // RACE!
    });
  for (auto& t : v) t.join();
  int sum = 0;
  for (int part : parts) sum += part;
  return sum;
}
