// push_back by one thread, size by another.
#include "../program.h"
#include <thread>
#include <vector>
std::vector<int> numbers;
size_t count() { return numbers.size(); } // RACE!
int main() {
  std::thread pusher([] {
    numbers.push_back(1); // RACE!
    done();
  });
  step(1);
  use((long)count());
  pusher.join();
}
