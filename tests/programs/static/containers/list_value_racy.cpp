#include <list>
#include <thread>
std::list<int> items;
int main() {
  for (int i = 0; i < 4; i++) items.push_back(i);
  auto work = [] {
    for (auto &i : items) i++; // RACE!
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
}
