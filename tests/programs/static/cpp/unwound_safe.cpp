// Should the second thread not start, the first ends the program: nothing is freed beside it.
#include <memory>
#include <thread>
int main() {
  auto box = std::make_unique<int>(1);
  int *inside = box.get();
  std::thread a([inside] { *inside = 2; }); // NORACE
  std::thread b([] {});
  a.join();
  b.join();
  return *box; // NORACE
}
