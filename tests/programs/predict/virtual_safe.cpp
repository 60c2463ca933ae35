// Only after the write does the guard let the other pass.
#include "program.h"
#include <atomic>
#include <memory>
#include <thread>
struct Shape {
  virtual ~Shape() = default;
  virtual int sides() const = 0;
};
struct Square : Shape {
  int sides() const override { return 4; }
};
static Square square;
static std::atomic<int> wanted{3};
static int data;
int main() {
  prepare();
  std::thread first([] {
    data = 1; // NORACE
    wanted = 5;
    finished();
  });
  std::thread second([] {
    late();
    const Shape *shape = &square;
    if (shape->sides() <= wanted.load())
      data = 2; // NORACE
  });
  first.join();
  second.join();
}
