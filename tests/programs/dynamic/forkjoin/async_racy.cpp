// The task is asked for too late.
#include "../program.h"
#include <future>
int value;
int main() {
  auto result = std::async(std::launch::async, [] {
    value = 1; // RACE!
    done();
    return 2;
  });
  step(1);
  value++; // RACE!
  use(result.get());
}
