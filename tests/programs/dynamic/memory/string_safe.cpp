// Each thread builds strings of its own from one constant.
#include "../program.h"
#include <string>
#include <thread>
const std::string greeting = "a greeting that does not fit the small buffer";
int main() {
  auto work = [] {
    std::string mine = greeting; // NORACE
    mine += "!";                 // NORACE
    use((long)mine.size());
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
}
