// The guard of a function's static object.
#include "../program.h"
#include <thread>
struct Table {
  int value;
  Table() : value(42) {} // NORACE
};
Table &table() {
  static Table instance;
  return instance;
}
int main() {
  std::thread a([] {
    table();
    done();
  });
  std::thread b([] {
    step(1);
    use(table().value); // NORACE
  });
  a.join();
  b.join();
}
