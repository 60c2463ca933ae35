// One thread puts a number at a list's end, another asks for the first.
#include "../program.h"
#include <list>
#include <thread>
std::list<int> numbers;
int main() {
  std::thread pusher([] {
    numbers.push_back(1); // RACE!
    done();
  });
  step(1);
  use(numbers.empty()); // RACE!
  pusher.join();
}
