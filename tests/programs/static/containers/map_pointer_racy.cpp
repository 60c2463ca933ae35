#include <map>
#include <thread>
struct item { int v; };
std::map<int, item *> items;
void add(int k) { items.emplace(k, new item{k}); }
int main() {
  for (int i = 0; i < 4; i++) add(i);
  auto work = [] {
    for (auto &i : items) {
      item *p = i.second;
      p->v++; // RACE!
    }
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
}
