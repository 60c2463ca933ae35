// Two threads of one round have one number.
#include <thread>
#include <vector>
int main() {
  std::vector<int> parts(4);
  std::vector<std::thread> v;
  for (int i = 0; i < 4; i++) {
    auto work = [&parts, i] {
      parts[i]++; // RACE!
    };
    v.emplace_back(work);
    v.emplace_back(work);
  }
  for (auto& t : v) t.join();
  int sum = 0;
  for (int part : parts) sum += part;
  return sum;
}
