// One thread takes the last number out of a tree, another walks over the tree.
#include "../program.h"
#include <set>
#include <thread>
std::set<int> numbers{1, 2, 3};
int main() {
  auto last = numbers.find(3);
  std::thread eraser([last] {
    numbers.erase(last); // RACE!
    done();
  });
  step(1);
  auto at = numbers.begin();
  ++at; // RACE!
  use(*at);
  eraser.join();
}
