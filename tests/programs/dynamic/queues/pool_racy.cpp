// Two tasks of a pool write to one total.
#include "../program.h"
#include <future>
int total;
int main() {
  auto first = std::async(std::launch::async, [] {
    total += 1; // RACE!
    done();
  });
  auto second = std::async(std::launch::async, [] {
    step(1);
    total += 2; // RACE!
  });
  first.get();
  second.get();
}
