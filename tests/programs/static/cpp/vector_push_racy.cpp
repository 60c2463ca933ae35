#include <thread>
#include <vector>
std::vector<int> v;
void add() { v.push_back(1); } // RACE!
int main() {
  std::thread s(add), t(add);
  s.join();
  t.join();
  return 0;
}
