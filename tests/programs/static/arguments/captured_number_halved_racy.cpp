// Two threads at a time share an element.
#include <thread>
#include <vector>
int main() {
  std::vector<int> parts(4);
  std::vector<std::thread> v;
  for (int i = 0; i < 4; i++)
    v.emplace_back([&parts, i] {
      for (int k = 0; k < 9; k++) parts[i / 2] += k; // RACE!
    });
  for (auto& t : v) t.join();
  int sum = 0;
  for (int part : parts) sum += part;
  return sum;
}
