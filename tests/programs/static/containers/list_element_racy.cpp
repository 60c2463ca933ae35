#include <list>
#include <thread>
struct item { int v; };
std::list<item *> items;
int main() {
  for (int i = 0; i < 4; i++) items.push_back(new item{i});
  auto work = [] {
    for (auto *i : items) i->v++; // RACE!
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
}
