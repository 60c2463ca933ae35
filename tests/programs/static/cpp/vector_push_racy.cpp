#include <thread>
#include <vector>
std::vector<int> v;
void add() { v.push_back(1); } // unknown: the racing accesses are in the library's header
int main() {
  std::thread s(add), t(add);
  s.join();
  t.join();
  return 0;
}
