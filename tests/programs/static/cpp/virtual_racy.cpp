#include <thread>
struct Shape { virtual void grow() = 0; virtual ~Shape() {} };
int size;
struct Square : Shape {
  void grow() override {
    size++; // RACE!
  }
};
Square square;
Shape *shape = &square;
int main() {
  std::thread t([] { shape->grow(); });
  shape->grow();
  t.join();
  return 0;
}
