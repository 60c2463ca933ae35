// The same with an array of threads and an array of results.
#include <thread>
int main() {
  std::thread v[4];
  int parts[4];
  for (int i = 0; i < 4; i++)
    v[i] = std::thread([&parts, i] {
      parts[i] = i; // NORACE
    });
  for (auto& t : v) t.join();
  return parts[2]; // NORACE
}
