// shared_ptr's counts: the last owner destroys.
#include "../program.h"
#include <memory>
#include <thread>
struct Thing {
  int value = 1;
  ~Thing() { value = 0; } // NORACE
};
int main() {
  auto thing = std::make_shared<Thing>();
  auto reader = [](std::shared_ptr<Thing> mine) { use(mine->value); }; // NORACE
  std::thread a(reader, thing), b(reader, thing);
  thing.reset();
  a.join();
  b.join();
}
