// The result of std::async, and what the task wrote before.
#include "../program.h"
#include <future>
int value;
int main() {
  auto result = std::async(std::launch::async, [] {
    value = 1; // NORACE
    return 2;
  });
  use(result.get());
  value++; // NORACE
}
