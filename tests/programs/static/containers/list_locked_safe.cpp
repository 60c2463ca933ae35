#include <list>
#include <mutex>
#include <thread>
struct item { int v; };
std::list<item *> items;
std::mutex m;
int main() {
  for (int i = 0; i < 4; i++) items.push_back(new item{i});
  auto work = [] {
    std::lock_guard<std::mutex> guard(m);
    for (auto *i : items) i->v++; // NORACE
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
}
