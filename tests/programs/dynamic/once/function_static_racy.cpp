// The guard protects the construction, not what comes after.
#include "../program.h"
#include <thread>
int &counter() {
  static int *value = new int(0);
  return *value;
}
int main() {
  std::thread a([] {
    counter()++; // RACE!
    done();
  });
  std::thread b([] {
    step(1);
    counter()++; // RACE!
  });
  a.join();
  b.join();
}
