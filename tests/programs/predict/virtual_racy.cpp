// The shape that was there before lets the write pass as well.
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
static std::atomic<int> wanted{4};
static int data;
int main() {
  prepare();
  std::thread first([] {
    data = 1; // RACE!
    wanted = 5;
    finished();
  });
  std::thread second([] {
    late();
    const Shape *shape = &square;
    if (shape->sides() <= wanted.load())
      data = 2; // RACE!
  });
  first.join();
  second.join();
}
