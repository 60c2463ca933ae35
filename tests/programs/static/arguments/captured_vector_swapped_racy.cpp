// The vectors change places between the threads' accesses.
#include <thread>
#include <vector>
#include <mutex>
std::mutex m;
int main() {
  std::vector<int> parts(4);
  std::vector<std::thread> v;
  std::vector<int> others(4);
  for (int i = 0; i < 4; i++)
    v.emplace_back([&parts, &others, i] {
      {
        std::lock_guard<std::mutex> guard(m);
        parts.swap(others);
      }
      parts[i]++; // RACE!
    });
  for (auto& t : v) t.join();
  int sum = 0;
  for (int part : parts) sum += part;
  return sum;
}
