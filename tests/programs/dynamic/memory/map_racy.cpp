// One thread puts a number into a tree while another looks for one that is not next to it.
#include "../program.h"
#include <map>
#include <thread>
std::map<int, int> numbers;
int main() {
  std::thread inserter([] {
    numbers.emplace(2, 2); // RACE!
    done();
  });
  step(1);
  use((long)numbers.count(1)); // RACE!
  inserter.join();
}
