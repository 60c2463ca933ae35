// Lambdas capture the same local by reference.
#include "../program.h"
#include <thread>
int main() {
  int value = 0;
  std::thread first([&] {
    value++; // RACE!
    done();
  });
  std::thread second([&] {
    step(1);
    value++; // RACE!
  });
  first.join();
  second.join();
}
