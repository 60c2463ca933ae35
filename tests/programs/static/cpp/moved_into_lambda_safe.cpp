// What a pointer with one owner leads to goes to the thread with it.
#include <memory>
#include <thread>
int main() {
  auto number = std::make_unique<int>(3);
  *number = 4; // NORACE
  std::thread t([own = std::move(number)] { (*own)++; }); // NORACE
  t.join();
}
