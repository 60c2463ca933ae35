// The counter itself is shared.
#include <thread>
#include <vector>
int main() {
  std::vector<int> parts(4);
  std::vector<std::thread> v;
  for (int i = 0; i < 4; i++) { // RACE!
    v.emplace_back([&parts, &i] {
      parts[i & 3]++; // RACE!
    });
  }
  for (auto& t : v) t.join();
  int sum = 0;
  for (int part : parts) sum += part;
  return sum;
}
