// The creator keeps the address that it has given away.
#include <memory>
#include <thread>
int main() {
  auto number = std::make_unique<int>(3);
  int *kept = number.get();
  std::thread t([own = std::move(number)] { (*own)++; }); // RACE!
  *kept = 4; // RACE!
  t.join();
}
